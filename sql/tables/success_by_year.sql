-- How does success depend on the instance's year?
--
-- Rows of `success_by` by year of the pull request, for the grader `paper` and the policy
-- `tests-only`, without the controls.
-- needs: success_by
CREATE OR REPLACE VIEW success_by_year AS
SELECT * EXCLUDE ("by") FROM success_by('paper', 'tests-only') WHERE "by" = 'year' AND method NOT IN ('golden', 'nop');
