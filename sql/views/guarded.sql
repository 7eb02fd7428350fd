-- Which verdicts still say solved when the guards have had their say?
--
-- Every column of `verdict`, and: guarded: solved, and no guard failed; null where the verdict is, and where a guard
-- that nothing speaks against was not measured. failed_guards: their names, sorted. chance: with which probability the
-- guards of a success that holds pass a test that only guesses (`guard_chance`).
-- needs: candidate_result, withdrawn_instance
CREATE OR REPLACE VIEW guarded AS
SELECT
    candidate_id, policy, instance_key, instance_id, snapshot, method, model, sample, grader,
    measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason,
    failed_guards, guarded, chance
FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE policy IS NOT NULL;
