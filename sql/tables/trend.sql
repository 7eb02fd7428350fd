-- How do methods do from month to month?
--
-- Rows of `success_by` by month of the pull request, for the grader `paper` and the policy `tests-only`, without the
-- controls. Months differ in difficulty too: `ability` tells the two apart.
-- needs: success_by
CREATE OR REPLACE VIEW trend AS
SELECT * EXCLUDE ("by", part), part AS month
FROM success_by('paper', 'tests-only')
WHERE "by" = 'month' AND method NOT IN ('golden', 'nop')
ORDER BY snapshot, method, model, month;
