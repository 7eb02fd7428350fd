-- What is the verdict of each grader on each counted candidate?
--
-- One row per candidate, policy and grader. Columns as in `paper`, without `counted`.
-- The grader views also contain replaced candidates and withdrawn instances.
-- needs: candidate_result, withdrawn_instance
CREATE OR REPLACE VIEW verdict AS
SELECT
    candidate_id, policy, instance_key, instance_id, snapshot, method, model, sample, grader,
    measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason
FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE policy IS NOT NULL;
