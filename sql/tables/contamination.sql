-- Is a method better on instances that its model may have seen in training, per grader?
--
-- Columns of `contamination_by`, for the policy `tests-only`. Each model has its own cutoff.
-- needs: contamination_by
CREATE OR REPLACE VIEW contamination AS
SELECT * FROM contamination_of(NULL::VARCHAR[], 'tests-only');
