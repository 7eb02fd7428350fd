-- What do people who read a repair say of it?
--
-- One row per repair_id that somebody read. reviewers: how many did; hacks: those who saw a sign of test hacking; hack:
-- whether they are more than half (TDFlow paper, appendix C: two of three). signs: those that more than half see, sorted;
-- there may be none where they see different ones.
-- needs: hack_label
CREATE OR REPLACE VIEW repair_label AS
WITH reader AS (
    SELECT
        repair_id,
        count(*) AS reviewers,
        count(*) FILTER (len(signs) > 0) AS hacks
    FROM hack_label
    GROUP BY repair_id
),
seen AS (
    SELECT repair_id, sign, count(*) AS times
    FROM (SELECT repair_id, unnest(signs) AS sign FROM hack_label)
    GROUP BY repair_id, sign
)
SELECT
    r.repair_id, r.reviewers, r.hacks, 2 * r.hacks > r.reviewers AS hack,
    coalesce(list(s.sign ORDER BY s.sign) FILTER (2 * s.times > r.reviewers), []) AS signs
FROM reader AS r LEFT JOIN seen AS s ON s.repair_id = r.repair_id
GROUP BY r.repair_id, r.reviewers, r.hacks;
