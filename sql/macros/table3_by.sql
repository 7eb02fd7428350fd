-- Table 3 of the paper for any grader and policy: mean change coverage over all, solved and unsolved instances.
--
-- One row per snapshot, method, model and definition, sample 0. An instance without a candidate covers nothing (section
-- 5.2, table 3). It counts if the golden tests' own denominator is above 0.
-- definition                of change coverage: `paper` or `swt_bench`
-- dc_all, dc_solved, dc_robust, dc_unsolved  mean change coverage in %: over all instances, and over those with a
--                           solved, robust or unsolved candidate
-- n_all, n_solved, n_robust, n_unsolved  instances in each mean
-- excluded                  instances whose golden patch has no executable line
-- unmeasured                instances without the runs
-- needs: method_instance, candidate_result, change_coverage
CREATE OR REPLACE MACRO table3_by(for_grader, for_policy) AS TABLE
WITH covered AS MATERIALIZED (
    FROM change_coverage
),
reference AS (
    SELECT c.snapshot, c.instance_id, d.definition, max(d.denominator) AS denominator
    FROM (SELECT DISTINCT snapshot, instance_id, method, candidate_id FROM candidate_result) AS c
    JOIN covered AS d ON d.candidate_id = c.candidate_id
    WHERE d.measured AND (c.method = 'golden' OR d.definition = 'paper')
    GROUP BY c.snapshot, c.instance_id, d.definition
),
cell AS (
    SELECT
        m.snapshot, m.method, m.model, m.provenance, x.definition, m.solved, m.robust,
        CASE
            WHEN m.candidate_id IS NULL THEN m.measured AND r.denominator IS NOT NULL
            ELSE m.measured AND coalesce(d.measured, false)
        END AS measured,
        CASE
            WHEN m.candidate_id IS NOT NULL THEN d.delta_c
            WHEN r.denominator > 0 THEN 0.0
        END AS delta_c
    FROM method_instance(for_grader, for_policy) AS m
    CROSS JOIN (VALUES ('paper'), ('swt_bench')) AS x (definition)
    LEFT JOIN covered AS d
        ON d.candidate_id = m.candidate_id AND d.policy = m.policy AND d.definition = x.definition
    LEFT JOIN reference AS r
        ON r.snapshot = m.snapshot AND r.instance_id = m.instance_id AND r.definition = x.definition
)
SELECT
    snapshot, method, model, any_value(provenance) AS provenance, definition,
    round(100 * avg(delta_c) FILTER (measured), 1) AS dc_all,
    round(100 * avg(delta_c) FILTER (measured AND solved), 1) AS dc_solved,
    round(100 * avg(delta_c) FILTER (measured AND robust), 1) AS dc_robust,
    round(100 * avg(delta_c) FILTER (measured AND NOT solved), 1) AS dc_unsolved,
    count(delta_c) FILTER (measured) AS n_all,
    count(delta_c) FILTER (measured AND solved) AS n_solved,
    count(delta_c) FILTER (measured AND robust) AS n_robust,
    count(delta_c) FILTER (measured AND NOT solved) AS n_unsolved,
    count(*) FILTER (measured AND delta_c IS NULL) AS excluded,
    count(*) FILTER (NOT measured) AS unmeasured
FROM cell
GROUP BY snapshot, method, model, definition
ORDER BY snapshot, definition, method, model;
