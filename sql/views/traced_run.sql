-- For one test suite on one code state of an instance: the run whose lines count.
--
-- One row per (instance_key, suite_ref, code_state) that was ever traced; run_key is the traced run.
-- The sibling of `settled_run`; change coverage does not mix environments and reads `submission_trace`.
-- needs: sandbox_run
CREATE OR REPLACE VIEW traced_run AS
SELECT instance_key, suite_ref, suite_kind, suite_id, files_key, code_state, env_id, sandbox, traced_run_key AS run_key
FROM sandbox_run
WHERE traced_run_key IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY instance_key, suite_ref, code_state
    ORDER BY env_finished_at DESC, env_id, sandbox
) = 1;
