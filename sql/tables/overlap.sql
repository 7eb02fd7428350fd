-- Which methods solve the same instances, and what would an ideal ensemble solve?
--
-- Columns of `method_overlap_by`, for the grader `paper` and the policy `tests-only` (section 5.4, figure 6: also
-- `method_overlap`).
-- needs: method_overlap_by
CREATE OR REPLACE VIEW overlap AS
SELECT * FROM method_overlap_by('paper', 'tests-only');
