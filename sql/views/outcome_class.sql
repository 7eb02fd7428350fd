-- How does each grader classify each outcome?
--
-- class  `pass`, `fail`, `none` (neither), and for the grader `paper` `missing`
-- seen   whether the grader reads such a case at all
-- needs: graders
CREATE OR REPLACE VIEW outcome_class AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_outcome$$);
