-- Audit, must be empty: a run that completed, reported no case and gives no reason.
--
-- An uncollectable module is a row. A run without rows needs a `detail`.
-- needs: run, case_outcome
CREATE OR REPLACE VIEW audit_run_without_cases AS
SELECT instance_id, run_key, suite_kind, code_state, log
FROM run
WHERE status = 'completed' AND detail = '' AND run_key NOT IN (SELECT run_key FROM case_outcome);
