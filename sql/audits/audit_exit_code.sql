-- Audit, must be empty: a run whose exit code and outcomes contradict each other.
--
-- Skipped and xfailed rows contradict no exit code. An xpassed row explains exit code 1 of unittest.
-- why  `fine` the runner exited with 0 and some case failed · `failed` it exited with 1 and nothing failed · `cut-off`
--      it was interrupted (pytest: 2 interrupted, 3 internal error, 4 usage error) or wrote no last record, and no row
--      shows a failure
-- needs: current_run, case_outcome
CREATE OR REPLACE VIEW audit_exit_code AS
WITH told AS (
    SELECT
        run_key,
        bool_or(outcome IN ('failed', 'error', 'timeout')) AS bad,
        bool_or(outcome = 'xpassed') AS odd
    FROM case_outcome
    GROUP BY run_key
),
judged AS (
    SELECT
        r.instance_id, r.run_key, r.suite_kind, r.code_state, r.status, r.exit_code, r.log,
        CASE
            WHEN r.status NOT IN ('completed', 'unapplied') AND NOT t.bad THEN 'cut-off'
            WHEN r.status <> 'completed' THEN ''
            WHEN r.exit_code = 0 AND t.bad THEN 'fine'
            WHEN r.exit_code = 1 AND NOT t.bad AND NOT t.odd THEN 'failed'
            WHEN r.exit_code NOT IN (0, 1, 5) AND NOT t.bad THEN 'cut-off'
            ELSE ''
        END AS why
    FROM current_run AS r JOIN told AS t ON t.run_key = r.run_key
)
SELECT * FROM judged WHERE why <> '';
