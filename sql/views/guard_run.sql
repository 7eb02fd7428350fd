-- Which runs are the robustness checks of a submission, decoys excluded?
--
-- One row per (candidate_id, policy, guard, code_state): the latest run of that form, in the environment and sandbox of
-- the verdict.
-- guard       `repeat` (both code states unchanged), `placebo` (`before`, edited), `paraphrase` and `variant` (`after`,
--             edited)
-- started_at  start of the run
-- needs: submission_run, current_run
CREATE OR REPLACE VIEW guard_run AS
SELECT
    s.instance_key, s.candidate_id, s.policy, s.suite_id, r.variant AS guard, r.code_state, r.run_key, r.status,
    r.started_at
FROM submission_run AS s
JOIN current_run AS r
    ON r.instance_key = s.instance_key AND r.suite_id = s.suite_id AND r.env_id = s.env_id AND r.sandbox = s.sandbox
WHERE r.variant IN ('repeat', 'placebo', 'paraphrase', 'variant')
QUALIFY row_number() OVER (
    PARTITION BY s.candidate_id, s.policy, r.variant, r.code_state ORDER BY r.finished_at DESC, r.run_key
) = 1;
