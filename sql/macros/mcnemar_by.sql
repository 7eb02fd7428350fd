-- McNemar's exact test for each pair of methods, for any grader and policy.
--
-- One row per snapshot and pair. The query encodes each method's results as a bit string over its instances in one
-- order. A join of three million rows took one second for six thousand pairs.
-- method_a, method_b        the two methods, in alphabetical order
-- instances                 measured for both
-- both_solve, only_a, only_b, neither  instances solved by both, by one method alone, by neither
-- p                         two-sided, on the discordant pairs
-- only_a_robust, only_b_robust, p_robust  the same for robust successes; null where a success was not fully checked
-- needs: method_instance, exact_tests
CREATE OR REPLACE MACRO mcnemar_by(for_grader, for_policy) AS TABLE
WITH coded AS (
    SELECT
        snapshot, name,
        string_agg(CASE
            WHEN NOT measured THEN '?'
            WHEN solved AND robust THEN 'G'
            WHEN solved AND robust IS NULL THEN 'U'
            WHEN solved THEN 'S'
            ELSE '-'
        END, '' ORDER BY instance_id) AS code
    FROM method_instance(for_grader, for_policy)
    GROUP BY snapshot, method, model, name
),
result AS (
    SELECT
        snapshot, name,
        translate(code, '?-SGU', '01111')::BIT AS measured,
        translate(code, '?-SGU', '00111')::BIT AS solved,
        translate(code, '?-SGU', '00010')::BIT AS robust,
        translate(code, '?-SGU', '00001')::BIT AS unchecked
    FROM coded
),
pair AS (
    SELECT
        a.snapshot, a.name AS method_a, b.name AS method_b,
        bit_count(a.measured & b.measured) AS instances,
        bit_count(a.solved & b.solved) AS both_solve,
        bit_count(a.solved & b.measured) - both_solve AS only_a,
        bit_count(a.measured & b.solved) - both_solve AS only_b,
        instances - both_solve - only_a - only_b AS neither,
        bit_count((a.unchecked & b.measured) | (a.measured & b.unchecked)) = 0 AS all_robust,
        CASE WHEN all_robust THEN bit_count(a.robust & b.measured) - bit_count(a.robust & b.robust) END AS only_a_robust,
        CASE WHEN all_robust THEN bit_count(a.measured & b.robust) - bit_count(a.robust & b.robust) END AS only_b_robust
    FROM result AS a JOIN result AS b ON b.snapshot = a.snapshot AND a.name < b.name
    WHERE bit_count(a.measured & b.measured) > 0
),
discordant AS (
    SELECT least(only_a, only_b) AS few, greatest(only_a, only_b) AS many FROM pair
    UNION
    SELECT least(only_a_robust, only_b_robust), greatest(only_a_robust, only_b_robust) FROM pair WHERE all_robust
),
exact AS (
    SELECT few, many, mcnemar_exact(few, many) AS p FROM discordant
)
SELECT
    r.* EXCLUDE (all_robust, only_a_robust, only_b_robust),
    e.p,
    r.only_a_robust, r.only_b_robust,
    g.p AS p_robust
FROM pair AS r
JOIN exact AS e ON e.few = least(r.only_a, r.only_b) AND e.many = greatest(r.only_a, r.only_b)
LEFT JOIN exact AS g
    ON r.all_robust AND g.few = least(r.only_a_robust, r.only_b_robust)
    AND g.many = greatest(r.only_a_robust, r.only_b_robust)
ORDER BY r.snapshot, r.method_a, r.method_b;
