-- Which graders are there?
--
-- only_t: robustness checks compare the cases of T, as the grader does; else every case that behaves differently with the
-- candidate.
-- accepts_golden: the golden tests of every valid instance are solved by it.
-- needs: graders
CREATE OR REPLACE VIEW grader AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_grader$$);
