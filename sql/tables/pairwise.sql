-- Which methods differ significantly, corrected for the number of pairs?
--
-- Rows of `mcnemar` without the controls, per snapshot.
-- p           McNemar's exact test
-- p_holm      corrected for all pairs of the snapshot by Holm's method, which bounds the probability of any false
--             difference
-- p_bh        corrected by Benjamini and Hochberg's method, which bounds the share of false differences among those
--             found
-- difference  of the two rates, in percentage points
-- needs: mcnemar_by
CREATE OR REPLACE VIEW pairwise AS
WITH ranked AS (
    SELECT
        snapshot, method_a, method_b, instances, both_solve, only_a, only_b, neither, p,
        row_number() OVER (PARTITION BY snapshot ORDER BY p, method_a, method_b) AS place,
        count(*) OVER (PARTITION BY snapshot) AS pairs
    FROM mcnemar_by('paper', 'tests-only')
    WHERE NOT regexp_matches(method_a, '^(golden|nop)$') AND NOT regexp_matches(method_b, '^(golden|nop)$')
)
SELECT
    snapshot, method_a, method_b, instances, both_solve, only_a, only_b, neither,
    round(100.0 * (only_a - only_b) / nullif(instances, 0), 1) AS difference,
    p,
    least(1.0, max((pairs - place + 1) * p) OVER (
        PARTITION BY snapshot ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS p_holm,
    least(1.0, min(pairs * p / place) OVER (
        PARTITION BY snapshot ORDER BY place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)) AS p_bh
FROM ranked
ORDER BY snapshot, place;
