-- How does success depend on the instance's repository?
--
-- Rows of `success_by` by repository (figure 9). Grader `paper`, policy `tests-only`, without the controls.
-- part           repository
-- S              rate of solved ones, in %
-- S_low, S_high  Wilson's 95 % interval of S
-- S_robust       share of robust successes, in %; null where a success was not fully checked
-- needs: success_by
CREATE OR REPLACE VIEW success_by_repository AS
SELECT * EXCLUDE ("by") FROM success_by('paper', 'tests-only') WHERE "by" = 'repository' AND method NOT IN ('golden', 'nop');
