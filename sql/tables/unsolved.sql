-- Which instances does no method solve?
--
-- Rows of `difficulty` that were tried and that nobody solves; those where somebody's test at least fails come last.
-- patch_lines  lines that the golden patch adds or removes
-- needs: difficulty
CREATE OR REPLACE VIEW unsolved AS
SELECT * EXCLUDE (solved, share, solved_by) FROM difficulty WHERE methods > 0 AND solved = 0;
