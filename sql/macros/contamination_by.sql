-- Is a method better on instances that its model may have seen? Compares instances before and after the model's
-- knowledge cutoff.
--
-- FROM contamination_by('paper', 'tests-only'). `contamination_of` takes a list of graders, null for all.
-- One row per snapshot, method and model with a known cutoff (`model_fact`), sample 0.
-- n_before, n_after         instances opened before the end of the cutoff's last day, and after it
-- solved_before, solved_after  number of solved ones
-- S_before, S_after         their rate in %
-- difference                of these rates, in percentage points
-- p_exact                   Fisher's exact test, one-sided, that the rate before is higher
-- p_z                       pooled two-proportion z-test (paper, section 5.4, table 7)
-- detectable                smallest difference in points that samples of these sizes find with power 80 % at the
--                           one-sided level 5 %, from the pooled rate
-- needed                    instances on each side to find the observed difference; null where it is not positive
-- undated                   instances without a date, excluded
-- unmeasured                instances without the runs, excluded
-- needs: method_instance, used_instance, model_fact, exact_tests, normal_tests
CREATE OR REPLACE MACRO contamination_of(for_graders, for_policy) AS TABLE
WITH sided AS (
    SELECT m.*, f.cutoff, i.created_at < f.cutoff AS before
    FROM method_instance_of(for_graders, for_policy) AS m
    JOIN model_fact AS f ON f.model = m.model AND f.cutoff IS NOT NULL
    JOIN used_instance AS i ON i.snapshot = m.snapshot AND i.instance_id = m.instance_id
),
counted AS (
    SELECT
        grader, snapshot, method, model, cutoff,
        count(*) FILTER (measured AND before) AS n_before,
        count(*) FILTER (solved AND before) AS solved_before,
        count(*) FILTER (measured AND NOT before) AS n_after,
        count(*) FILTER (solved AND NOT before) AS solved_after,
        count(*) FILTER (before IS NULL) AS undated,
        count(*) FILTER (NOT measured) AS unmeasured
    FROM sided
    GROUP BY grader, snapshot, method, model, cutoff
),
rated AS (
    SELECT
        *,
        solved_before / nullif(n_before, 0)::DOUBLE - solved_after / nullif(n_after, 0)::DOUBLE AS gap,
        (solved_before + solved_after) / nullif(n_before + n_after, 0)::DOUBLE AS pooled
    FROM counted
)
SELECT
    grader, snapshot, method, model, CAST(cutoff AS DATE) - 1 AS cutoff,
    n_before, solved_before, round(100.0 * solved_before / nullif(n_before, 0), 1) AS S_before,
    n_after, solved_after, round(100.0 * solved_after / nullif(n_after, 0), 1) AS S_after,
    round(100 * gap, 1) AS difference,
    CASE WHEN n_before > 0 AND n_after > 0
        THEN round(fisher_greater(solved_before, n_before, solved_after, n_after), 4) END AS p_exact,
    round(two_proportion_z(solved_before, n_before, solved_after, n_after), 4) AS p_z,
    round(100 * detectable_difference(pooled, n_before, n_after), 1) AS detectable,
    CASE WHEN gap > 0 THEN instances_needed(pooled, gap) END AS needed,
    undated, unmeasured
FROM rated
ORDER BY grader, snapshot, method, model;

CREATE OR REPLACE MACRO contamination_by(for_grader, for_policy) AS TABLE
SELECT * FROM contamination_of([for_grader], for_policy);
