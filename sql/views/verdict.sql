-- Every verdict of every grader on a candidate that counts: one row per candidate, policy and grader.
--
-- Columns as in `paper` but `counted`. Verdicts on candidates that a later one took the place of,
-- and on withdrawn instances, are in the graders.
-- needs: candidate_result, withdrawn_instance
CREATE OR REPLACE VIEW verdict AS
SELECT
    candidate_id, policy, instance_key, instance_id, snapshot, method, model, sample, grader,
    measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason
FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE policy IS NOT NULL;
