-- Which traced run counts for a test suite on a code state of an instance?
--
-- One row per (instance_key, suite_ref, code_state) that was ever traced. Change coverage does not mix environments, so
-- it reads `submission_trace` instead.
-- run_key  the traced run
-- needs: sandbox_run
CREATE OR REPLACE VIEW traced_run AS
SELECT instance_key, suite_ref, suite_kind, suite_id, files_key, code_state, env_id, sandbox, traced_run_key AS run_key
FROM sandbox_run
WHERE traced_run_key IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY instance_key, suite_ref, code_state
    ORDER BY env_finished_at DESC, env_id, sandbox
) = 1;
