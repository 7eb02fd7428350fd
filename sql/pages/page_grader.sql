-- How does each grader score each method?
--
-- One row per snapshot, method, model and grader, under `tests-only`: n, S, S_low, S_high and S_guarded as in `table2_by`.
-- needs: graders, table2_by
CREATE OR REPLACE VIEW page_grader AS
SELECT * FROM each_grader($$
    SELECT '{grader}' AS grader, snapshot, method, model, n, S, S_low, S_high, S_guarded
    FROM table2_by('{grader}', 'tests-only')
$$)
ORDER BY snapshot, method, model, grader;
