-- Every verdict of every grader: one row per candidate, policy and grader.
--
-- Columns as in `paper`.
-- needs: graders
CREATE OR REPLACE VIEW verdict AS
SELECT * FROM each_grader($$SELECT * FROM {grader}$$);
