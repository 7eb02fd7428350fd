-- Audit, must be empty: a row with a reference to a missing row.
--
-- what  the table and column of the reference
-- key   the missing value
-- needs: candidate, submission, suite, proposed_fix, repair, fix_run
CREATE OR REPLACE VIEW audit_orphan AS
SELECT 'submission.candidate_id' AS what, candidate_id AS key
FROM submission WHERE candidate_id NOT IN (SELECT candidate_id FROM candidate)
UNION ALL
SELECT 'submission.suite_id', suite_id
FROM submission WHERE well_formed AND coalesce(suite_id, '') NOT IN (SELECT suite_id FROM suite)
UNION ALL
SELECT 'repair.fix_id', fix_id
FROM repair WHERE fix_id NOT IN (SELECT fix_id FROM proposed_fix)
UNION ALL
SELECT 'fix_run.fix_id', fix_id
FROM fix_run WHERE fix_id NOT IN (SELECT fix_id FROM proposed_fix);
