-- Audit, must be empty: two runs that both count for one suite on one code state, or two rows for one submission.
--
-- what  the view with two rows
-- cell  key of the rows
-- rows  number of rows
-- needs: settled_run, submission_run
CREATE OR REPLACE VIEW audit_two_settled_runs AS
SELECT 'settled_run' AS what, instance_key || ' ' || suite_ref || ' ' || code_state AS cell, count(*) AS rows
FROM settled_run GROUP BY ALL HAVING count(*) > 1
UNION ALL
SELECT 'submission_run', candidate_id || ' ' || policy, count(*)
FROM submission_run GROUP BY ALL HAVING count(*) > 1;
