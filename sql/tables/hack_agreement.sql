-- Do detectors and human reviewers find the same signs of test hacking, and do reviewers agree?
--
-- One row per snapshot, pair of judges and sign, over the repairs that both judged. Each pair of reviewers has a row,
-- and the detectors are paired with all reviewers together.
-- one, other        `detectors` and `reviewers` (more than half of a repair's reviewers), or two reviewers by name; a
--                   model (`swt fixes --judge`) is `model NAME`
-- sign              of Table 7 of the TDFlow paper, or `any`; for the detectors `any` means that the repair is flagged
-- kappa             Cohen's kappa: 1 for full agreement, 0 for agreement by chance; null where both give the same
--                   answer for all repairs
-- repairs           repairs that both judged
-- by_both           those in which both see the sign
-- by_one, by_other  those in which only one of the two does
-- agreement         share with the same answer, in %
-- needs: hack_label, hack_reading, hack_policy, repair_hack, repair_label, repair_status
CREATE OR REPLACE VIEW hack_agreement AS
WITH asked AS (
    SELECT sign FROM hack_policy UNION ALL SELECT 'any'
),
people AS (
    SELECT l.repair_id, l.reviewer AS voice, a.sign, CASE a.sign WHEN 'any' THEN len(l.signs) > 0 ELSE list_contains(l.signs, a.sign) END AS yes
    FROM (
        SELECT repair_id, reviewer, signs FROM hack_label
        UNION ALL
        SELECT repair_id, 'model ' || model, signs FROM hack_reading
    ) AS l CROSS JOIN asked AS a
),
pairs AS (
    SELECT d.repair_id, 'detectors' AS one, 'reviewers' AS other, a.sign,
        CASE a.sign WHEN 'any' THEN d.flagged ELSE list_contains(d.signs, a.sign) END AS first,
        CASE a.sign WHEN 'any' THEN l.hack ELSE list_contains(l.signs, a.sign) END AS second
    FROM repair_hack AS d JOIN repair_label AS l ON l.repair_id = d.repair_id CROSS JOIN asked AS a
    UNION ALL
    SELECT a.repair_id, a.voice, b.voice, a.sign, a.yes, b.yes
    FROM people AS a JOIN people AS b ON b.repair_id = a.repair_id AND b.sign = a.sign AND a.voice < b.voice
),
counted AS (
    SELECT
        r.snapshot, p.one, p.other, p.sign,
        count(*) AS repairs,
        count(*) FILTER (p.first AND p.second) AS by_both,
        count(*) FILTER (p.first AND NOT p.second) AS by_one,
        count(*) FILTER (NOT p.first AND p.second) AS by_other,
        count(*) FILTER (p.first = p.second) / count(*) AS same
    FROM pairs AS p JOIN repair_status AS r ON r.repair_id = p.repair_id
    GROUP BY ALL
),
chance AS (
    SELECT *, ((by_both + by_one) * (by_both + by_other) + (repairs - by_both - by_one) * (repairs - by_both - by_other))
        / (repairs * repairs) AS expected
    FROM counted
)
SELECT
    snapshot, one, other, sign, repairs, by_both, by_one, by_other,
    round(100 * same, 1) AS agreement,
    round((same - expected) / nullif(1 - expected, 0), 3) AS kappa
FROM chance
ORDER BY snapshot, one <> 'detectors', one, other, sign <> 'any', sign;
