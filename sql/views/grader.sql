-- Which graders exist?
--
-- One row per grader.
-- only_t          robustness checks compare the cases of T, as the grader does; if false, every case that behaves
--                 differently with the candidate
-- accepts_golden  the grader calls the golden tests of every valid instance solved
-- needs: graders
CREATE OR REPLACE VIEW grader AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_grader$$);
