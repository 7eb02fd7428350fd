-- McNemar's exact test for each pair of methods, for any grader and policy.
--
-- Per snapshot and pair, method_a before method_b in the alphabet: instances measured for both, of these solved by
-- both, only by a, only by b, by neither; p: two-sided, on the discordant pairs. only_a_guarded, only_b_guarded,
-- p_guarded: the same where only what holds against the guards is solved; null where a success was not guarded.
-- method_a, method_b            the two, in the alphabet
-- instances                     measured for both
-- both_solve, only_a, only_b, neither  how many of these are solved by both, by one alone, by none
-- needs: method_instance, exact_tests
CREATE OR REPLACE MACRO mcnemar_by(for_grader, for_policy) AS TABLE
WITH result AS (
    SELECT snapshot, name, instance_id, solved, guarded FROM method_instance(for_grader, for_policy) WHERE measured
),
pair AS (
    SELECT
        a.snapshot, a.name AS method_a, b.name AS method_b,
        count(*) AS instances,
        count(*) FILTER (a.solved AND b.solved) AS both_solve,
        count(*) FILTER (a.solved AND NOT b.solved) AS only_a,
        count(*) FILTER (b.solved AND NOT a.solved) AS only_b,
        count(*) FILTER (NOT a.solved AND NOT b.solved) AS neither,
        count(*) FILTER (a.guarded IS NULL OR b.guarded IS NULL) = 0 AS measured,
        CASE WHEN measured THEN count(*) FILTER (a.guarded AND NOT b.guarded) END AS only_a_guarded,
        CASE WHEN measured THEN count(*) FILTER (b.guarded AND NOT a.guarded) END AS only_b_guarded
    FROM result AS a
    JOIN result AS b ON b.snapshot = a.snapshot AND b.instance_id = a.instance_id AND a.name < b.name
    GROUP BY a.snapshot, a.name, b.name
)
SELECT
    * EXCLUDE (measured, only_a_guarded, only_b_guarded),
    mcnemar_exact(only_a, only_b) AS p,
    only_a_guarded, only_b_guarded,
    CASE WHEN measured THEN mcnemar_exact(only_a_guarded, only_b_guarded) END AS p_guarded
FROM pair
ORDER BY snapshot, method_a, method_b;
