-- Audit, must be empty: two verdicts of one grader for one candidate row and policy.
--
-- rows  number of verdicts
-- needs: verdict
CREATE OR REPLACE VIEW audit_two_verdicts AS
SELECT snapshot, candidate_id, policy, grader, count(*) AS rows
FROM verdict GROUP BY ALL HAVING count(*) > 1;
