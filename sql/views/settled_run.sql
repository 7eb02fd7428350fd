-- For one test suite on one code state of an instance: the run whose outcomes count.
--
-- One row per (instance_key, suite_ref, code_state), columns of `sandbox_run`. The environment and sandbox that the
-- instance last ran in come first. Verdicts do not mix environments: they read `submission_run`.
-- needs: sandbox_run
CREATE OR REPLACE VIEW settled_run AS
SELECT *
FROM sandbox_run
QUALIFY row_number() OVER (
    PARTITION BY instance_key, suite_ref, code_state
    ORDER BY env_finished_at DESC, env_id, sandbox
) = 1;
