-- Is a method better on what its model may have seen, as each grader counts?
--
-- Columns of `contamination_by`, for the policy `tests-only`: each model by its own cutoff, each grader by itself.
-- needs: graders, contamination_by
CREATE OR REPLACE VIEW contamination AS
SELECT * FROM each_grader($$SELECT * FROM contamination_by('{grader}', 'tests-only')$$);
