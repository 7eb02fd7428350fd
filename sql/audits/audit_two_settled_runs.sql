-- Audit, must be empty: two runs that both settle one suite on one state, or two rows for one submission.
--
-- what  the view that says two things
-- cell  of what
-- rows  how many runs it names
-- needs: settled_run, submission_run
CREATE OR REPLACE VIEW audit_two_settled_runs AS
SELECT 'settled_run' AS what, instance_key || ' ' || suite_ref || ' ' || code_state AS cell, count(*) AS rows
FROM settled_run GROUP BY ALL HAVING count(*) > 1
UNION ALL
SELECT 'submission_run', candidate_id || ' ' || policy, count(*)
FROM submission_run GROUP BY ALL HAVING count(*) > 1;
