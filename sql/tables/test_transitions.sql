-- How do generated tests behave before and after the golden patch, in each repository?
--
-- One row per snapshot, method, model and repository, and one with repo null for all repositories (TDFlow paper, figure
-- 4: also `tdflow_figure4`).
-- instances                 instances with a measured candidate (sample 0)
-- tests                     number of tests
-- f2p, p2p, p2f, f2f        tests that fail or pass before and after the golden patch, as the grader `paper` counts
--                           outcomes
-- other                     tests that are skipped, missing or expected to fail on a side
-- btr                       mean Bad Test Rate of the instances that have tests, in %
-- needs: test_quality
CREATE OR REPLACE VIEW test_transitions AS
SELECT
    snapshot, method, model, repo,
    count(*) AS instances,
    sum(tests)::BIGINT AS tests,
    sum(f2p)::BIGINT AS f2p,
    sum(p2p)::BIGINT AS p2p,
    sum(p2f)::BIGINT AS p2f,
    sum(f2f)::BIGINT AS f2f,
    sum(other)::BIGINT AS other,
    round(100 * avg(btr), 1) AS btr
FROM test_quality
GROUP BY GROUPING SETS ((snapshot, method, model, repo), (snapshot, method, model))
ORDER BY snapshot, method, model, repo NULLS FIRST;
