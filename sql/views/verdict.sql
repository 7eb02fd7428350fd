-- Every verdict of every grader on a candidate that counts: one row per candidate, policy and grader.
--
-- Columns as in `paper` but `counted`. Verdicts on candidates that a later one took the place of,
-- and on withdrawn instances, are in the graders.
-- needs: graders, withdrawn_instance
CREATE OR REPLACE VIEW verdict AS
SELECT * FROM each_grader($$SELECT * EXCLUDE (counted) FROM {grader} WHERE counted$$)
ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
