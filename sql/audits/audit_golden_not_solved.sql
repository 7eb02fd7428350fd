-- Audit, must be empty: a golden candidate that some grader measured and does not call solved.
--
-- The 2024 rules of the public harness are left out: they reject golden tests whose module cannot be imported before.
-- needs: verdict
CREATE OR REPLACE VIEW audit_golden_not_solved AS
SELECT snapshot, instance_id, policy, grader, reason
FROM verdict
WHERE method = 'golden' AND NOT solved AND grader <> 'swt_bench_2024';
