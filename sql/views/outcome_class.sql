-- What does an outcome count as, for each grader?
--
-- class  `pass`, `fail`, `none` (neither), and for the grader `paper` `missing`
-- seen   whether the grader knows of such a case at all
-- needs: graders
CREATE OR REPLACE VIEW outcome_class AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_outcome$$);
