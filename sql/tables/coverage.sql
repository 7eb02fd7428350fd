-- How much of the golden patch do the generated tests cover, on all, solved and unsolved instances?
--
-- Columns of `table3_by`, for the grader `paper` and the policy `tests-only`, with both definitions (section 5.2, table
-- 3: also `table3`).
-- needs: table3_by
CREATE OR REPLACE VIEW coverage AS
SELECT * FROM table3_by('paper', 'tests-only');
