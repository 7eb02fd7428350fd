-- Which graders are there?
--
-- only_t: guards compare the cases of T, as the grader does; else every case that the candidate makes behave otherwise.
-- accepts_golden: the golden tests of every valid instance are solved by it.
-- needs: graders
CREATE OR REPLACE VIEW grader AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_grader$$);
