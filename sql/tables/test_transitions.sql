-- What do generated tests do before and after the golden patch, in each repository?
--
-- Per snapshot, method, model and repository, and for all of them together (repo null): instances with a measured
-- candidate (sample 0), tests, and how many of them are f2p, p2p, p2f, f2f or other, as in `test_quality` (TDFlow paper,
-- figure 4: also `tdflow_figure4`). btr: mean Bad Test Rate of the instances that have tests, in %.
-- instances  those with a measured candidate
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
