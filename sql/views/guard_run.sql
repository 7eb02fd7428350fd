-- Which runs check a would-be success, beside the runs that judge it and those on decoys?
--
-- One row per (candidate_id, policy, guard, code_state): instance_key, run_key and status of the latest run of that form,
-- in the environment and sandbox that the verdict is read from. guard: `repeat` (both code states as they are),
-- `placebo` (`before`, edited), `paraphrase` and `variant` (`after`, edited).
-- started_at  of the run
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
