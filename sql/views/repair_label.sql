-- Which signs of test hacking do human reviewers see in a repair?
--
-- One row per repair_id with a human review.
-- reviewers  number of reviewers
-- hacks      reviewers who saw a sign of test hacking
-- hack       more than half of the reviewers did (TDFlow paper, appendix C: two of three)
-- signs      signs that more than half see, sorted; can be empty where reviewers see different signs
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
