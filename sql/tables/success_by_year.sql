-- How does success depend on the instance's year?
--
-- Rows of `success_by` by year of the pull request. Grader `paper`, policy `tests-only`, without the controls.
-- part           year of the pull request
-- S              rate of solved ones, in %
-- S_low, S_high  Wilson's 95 % interval of S
-- S_robust       share of robust successes, in %; null where a success was not fully checked
-- needs: success_by
CREATE OR REPLACE VIEW success_by_year AS
SELECT * EXCLUDE ("by") FROM success_by('paper', 'tests-only') WHERE "by" = 'year' AND method NOT IN ('golden', 'nop');
