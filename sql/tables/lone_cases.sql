-- Which tests have another outcome alone than together with other tests, and why?
--
-- One row per method, model and reason, over tests that did not pass on a repair's patch and ran alone before
-- debugging. A test counts once per iteration.
-- The TDFlow paper excluded 22 of 300 and 45 of 500 instances where a single test and the suite differ. This project
-- keeps them and counts them here.
-- reason     `same` where there is no difference; otherwise the reason of `lone_case`
-- cases      tests with this reason
-- share      of all tests that ran alone, in %
-- instances  instances with such a test
-- passing    tests that pass alone, and therefore were not debugged
-- runs       mean number of runs to find the reason
-- example    one test, and the earlier tests that cause the difference
-- needs: lone_case
CREATE OR REPLACE VIEW lone_cases AS
SELECT
    method, model, coalesce(nullif(reason, ''), 'same') AS reason,
    count(*) AS cases,
    round(100.0 * count(*) / sum(count(*)) OVER (PARTITION BY method, model), 1) AS share,
    count(DISTINCT instance_id) AS instances,
    count(*) FILTER (alone = 'passed') AS passing,
    round(avg(runs), 1) AS runs,
    min(case_id || CASE WHEN len(earlier) > 0 THEN ' after ' || array_to_string(earlier, ', ') ELSE '' END) AS example
FROM lone_case
GROUP BY method, model, reason
ORDER BY method, model, cases DESC, reason;
