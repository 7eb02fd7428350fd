-- McNemar's exact test for each pair of methods, for any grader and policy.
--
-- Per snapshot and pair, method_a before method_b in the alphabet: instances measured for both, of these solved by
-- both, only by a, only by b, by neither; p: two-sided, on the discordant pairs. only_a_guarded, only_b_guarded,
-- p_guarded: the same where only what holds against the guards is solved; null where a success was not guarded.
-- method_a, method_b            the two, in the alphabet
-- instances                     measured for both
-- both_solve, only_a, only_b, neither  how many of these are solved by both, by one alone, by none
-- A method's instances are a bit each, in one order: three million joined rows took a second for six thousand pairs.
-- needs: method_instance, exact_tests
CREATE OR REPLACE MACRO mcnemar_by(for_grader, for_policy) AS TABLE
WITH coded AS (
    SELECT
        snapshot, name,
        string_agg(CASE
            WHEN NOT measured THEN '?'
            WHEN solved AND guarded THEN 'G'
            WHEN solved AND guarded IS NULL THEN 'U'
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
        translate(code, '?-SGU', '00010')::BIT AS guarded,
        translate(code, '?-SGU', '00001')::BIT AS unguarded
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
        bit_count((a.unguarded & b.measured) | (a.measured & b.unguarded)) = 0 AS all_guarded,
        CASE WHEN all_guarded THEN bit_count(a.guarded & b.measured) - bit_count(a.guarded & b.guarded) END AS only_a_guarded,
        CASE WHEN all_guarded THEN bit_count(a.measured & b.guarded) - bit_count(a.guarded & b.guarded) END AS only_b_guarded
    FROM result AS a JOIN result AS b ON b.snapshot = a.snapshot AND a.name < b.name
    WHERE bit_count(a.measured & b.measured) > 0
),
discordant AS (
    SELECT least(only_a, only_b) AS few, greatest(only_a, only_b) AS many FROM pair
    UNION
    SELECT least(only_a_guarded, only_b_guarded), greatest(only_a_guarded, only_b_guarded) FROM pair WHERE all_guarded
),
exact AS (
    SELECT few, many, mcnemar_exact(few, many) AS p FROM discordant
)
SELECT
    r.* EXCLUDE (all_guarded, only_a_guarded, only_b_guarded),
    e.p,
    r.only_a_guarded, r.only_b_guarded,
    g.p AS p_guarded
FROM pair AS r
JOIN exact AS e ON e.few = least(r.only_a, r.only_b) AND e.many = greatest(r.only_a, r.only_b)
LEFT JOIN exact AS g
    ON r.all_guarded AND g.few = least(r.only_a_guarded, r.only_b_guarded)
    AND g.many = greatest(r.only_a_guarded, r.only_b_guarded)
ORDER BY r.snapshot, r.method_a, r.method_b;
