-- Audit, must be empty: a golden candidate that some grader measured and does not call solved.
--
-- Graders that do not accept every golden suite are excluded.
-- needs: verdict, grader
CREATE OR REPLACE VIEW audit_golden_not_solved AS
SELECT v.snapshot, v.instance_id, v.policy, v.grader, v.reason
FROM verdict AS v JOIN grader AS g ON g.grader = v.grader
WHERE v.method = 'golden' AND NOT v.solved AND g.accepts_golden;
