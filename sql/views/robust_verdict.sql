-- Which solved verdicts are robust?
--
-- Every column of `verdict`, and:
-- robust           solved, and no robustness check failed; null where the verdict is null, and where a check was not
--                  measured and none failed
-- failed_guards    names of the checks that failed, sorted
-- decoys           decoys that a solved candidate ran on
-- decoys_rejected  those of them that it rejects
-- needs: candidate_result, withdrawn_instance
CREATE OR REPLACE VIEW robust_verdict AS
SELECT
    candidate_id, policy, instance_key, instance_id, snapshot, method, model, sample, grader,
    measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason,
    failed_guards, robust, decoys, decoys_rejected
FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE policy IS NOT NULL;
