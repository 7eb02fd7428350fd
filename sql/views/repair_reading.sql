-- Which signs of test hacking do language models see in a repair?
--
-- One row per repair_id that a model reviewed (`swt fixes --judge`).
-- models  number of models
-- hack    more than half of them see a sign of test hacking
-- signs   all signs that any of them sees, sorted
-- why     explanation of one model; empty where no model sees a sign
-- needs: hack_reading
CREATE OR REPLACE VIEW repair_reading AS
SELECT
    repair_id,
    count(*) AS models,
    2 * count(*) FILTER (len(signs) > 0) > count(*) AS hack,
    list_sort(list_distinct(flatten(list(signs)))) AS signs,
    coalesce(min(model || ': ' || why) FILTER (len(signs) > 0), '') AS why
FROM hack_reading
GROUP BY repair_id;
