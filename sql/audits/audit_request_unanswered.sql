-- Audit, must be empty: a run that an instance requested, that is not stored, and that no row reports as incomplete.
--
-- Columns of `run_request`. A stored later request for the same suite, code state and repeat answers an earlier one,
-- since the environment or the runner changed between them.
-- A run with an internal failure is not stored.
-- requested_at  time of the request
-- needs: run, run_request, undone_now
CREATE OR REPLACE VIEW audit_request_unanswered AS
WITH answered AS (
    SELECT q.*
    FROM run_request AS q
    JOIN run AS r ON r.run_key = q.run_key AND r.status <> 'infrastructure'
)
SELECT q.*
FROM run_request AS q
ANTI JOIN answered AS a
    ON a.instance_key = q.instance_key AND a.suite_kind = q.suite_kind
    AND a.suite_id IS NOT DISTINCT FROM q.suite_id AND a.files_key = q.files_key AND a.code_state = q.code_state
    AND a.variant = q.variant AND a.repeat = q.repeat AND a.requested_at >= q.requested_at
ANTI JOIN undone_now AS u ON u.subject = q.instance_id;
