-- Which runs guard a submission, beside the runs that judge it?
--
-- One row per (candidate_id, policy, guard, code_state, repeat): instance_key, run_key, status and start of the latest run of that
-- form, in the environment and sandbox that the verdict is read from. guard: `placebo` (`before`, edited), `paraphrase`
-- (`after`, edited), `repeat` (both states as they are).
-- repeat      which of the guard's runs on this code state
-- started_at  of the run
-- needs: submission_run, current_run
CREATE OR REPLACE VIEW guard_run AS
SELECT
    s.instance_key, s.candidate_id, s.policy, s.suite_id, r.variant AS guard, r.code_state, r.repeat, r.run_key, r.status, r.started_at
FROM submission_run AS s
JOIN current_run AS r
    ON r.instance_key = s.instance_key AND r.suite_id = s.suite_id AND r.env_id = s.env_id AND r.sandbox = s.sandbox
WHERE r.variant IN ('repeat', 'placebo', 'paraphrase')
QUALIFY row_number() OVER (
    PARTITION BY s.candidate_id, s.policy, r.variant, r.code_state, r.repeat ORDER BY r.finished_at DESC, r.run_key
) = 1;
