-- Is a method better on what its model may have seen, as each grader counts?
--
-- Columns of `contamination_by`, for the policy `tests-only`: each model by its own cutoff, each grader by itself.
-- needs: contamination_by
CREATE OR REPLACE VIEW contamination AS
SELECT * FROM contamination_of(NULL::VARCHAR[], 'tests-only');
