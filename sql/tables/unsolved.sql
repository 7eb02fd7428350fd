-- Which instances does no method solve?
--
-- Rows of `difficulty` with at least one measured method and no solution. Instances on which some test fails before the
-- fix come last.
-- patch_lines  lines that the golden patch adds or removes
-- needs: difficulty
CREATE OR REPLACE VIEW unsolved AS
SELECT * EXCLUDE (solved, share, solved_by) FROM difficulty WHERE methods > 0 AND solved = 0;
