-- Which score does each grader give each method?
--
-- One row per snapshot, method, model and grader, under `tests-only`: n, S, S_low, S_high and S_robust as in
-- `table2_by`.
-- needs: table2_by
CREATE OR REPLACE VIEW page_grader AS
SELECT grader, snapshot, method, model, n, S, S_low, S_high, S_robust
FROM table2_of(NULL::VARCHAR[], 'tests-only', NULL::VARCHAR[])
ORDER BY snapshot, method, model, grader;
