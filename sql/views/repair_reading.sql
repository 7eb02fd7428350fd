-- What do models that read a repair say of it?
--
-- One row per repair_id that a model read (`swt fixes --judge`). models: how many did; hack: whether more than half of them
-- see a sign of test hacking; signs: all that any of them sees, sorted; why: of one of them, empty where there is none.
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
