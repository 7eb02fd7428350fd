-- How do methods perform from month to month?
--
-- Rows of `success_by` by month of the pull request. Grader `paper`, policy `tests-only`, without the controls. Months
-- also differ in difficulty, so a change of S alone does not show a change of the method.
-- month          of the pull request
-- S              rate of solved ones, in %
-- S_low, S_high  Wilson's 95 % interval of S
-- S_robust       share of robust successes, in %; null where a success was not fully checked
-- needs: success_by
CREATE OR REPLACE VIEW trend AS
SELECT * EXCLUDE ("by", part), part AS month
FROM success_by('paper', 'tests-only')
WHERE "by" = 'month' AND method NOT IN ('golden', 'nop')
ORDER BY snapshot, method, model, month;
