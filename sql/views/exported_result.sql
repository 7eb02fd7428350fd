-- What does a report of the public harness contain for each method and instance?
--
-- One row per method and instance, by the grader `swt_bench`.
-- name     method and model in one
-- empty    the candidate is an empty patch
-- delta_c  change coverage as the public harness defines it
-- needs: method_instance, counted_candidate, change_coverage
CREATE OR REPLACE VIEW exported_result AS
SELECT
    m.snapshot, m.name, m.instance_id, m.measured, m.solved, m.candidate_id, c.patch = '' AS empty, d.delta_c
FROM method_instance('swt_bench', 'tests-only') AS m
LEFT JOIN counted_candidate AS c ON c.snapshot = m.snapshot AND c.candidate_id = m.candidate_id
LEFT JOIN change_coverage AS d
    ON d.candidate_id = m.candidate_id AND d.policy = m.policy AND d.definition = 'swt_bench';
