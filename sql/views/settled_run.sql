-- Which run counts for a test suite on a code state of an instance?
--
-- One row per (instance_key, suite_ref, code_state), from the environment and sandbox of the instance's last run.
-- Columns of `sandbox_run`.
-- Verdicts do not mix environments, so they read `submission_run` instead.
-- needs: sandbox_run
CREATE OR REPLACE VIEW settled_run AS
SELECT *
FROM sandbox_run
QUALIFY row_number() OVER (
    PARTITION BY instance_key, suite_ref, code_state
    ORDER BY env_finished_at DESC, env_id, sandbox
) = 1;
