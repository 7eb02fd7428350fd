-- Audit, must be empty: a verdict that contradicts itself.
--
-- Unmeasured with a verdict, measured without a verdict, solved without a failing-to-passing case, or solved with a
-- reason.
-- needs: verdict
CREATE OR REPLACE VIEW audit_verdict_incoherent AS
SELECT snapshot, instance_id, candidate_id, policy, grader
FROM verdict
WHERE measured <> (solved IS NOT NULL)
    OR (solved AND NOT (fail_to_pass AND fail_to_any))
    OR (measured AND solved <> (reason = ''));
