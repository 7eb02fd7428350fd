-- How often does each method write a well-formed, failing, and reproducing test?
--
-- Columns of `table2_by`, for the grader `paper` and the policy `tests-only` (section 5.2, table 2: also `table2`).
-- needs: table2_by
CREATE OR REPLACE VIEW leaderboard AS
SELECT * FROM table2_by('paper', 'tests-only');
