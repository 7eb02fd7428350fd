-- Audit, must be empty: an empty candidate that a grader calls solved.
-- needs: verdict
CREATE OR REPLACE VIEW audit_nop_solved AS
SELECT snapshot, instance_id, policy, grader FROM verdict WHERE method = 'nop' AND solved;
