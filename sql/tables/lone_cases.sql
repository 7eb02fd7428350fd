-- Which tests end otherwise alone than among the others, and why?
--
-- Per method, model and reason, over tests that did not pass on a patch of a repair and were run alone before they were
-- debugged alone. A test counts once for each iteration. The TDFlow paper left out 22 of 300 and 45 of 500 instances
-- where a test alone and the suite differ; here they stay in, and this says how many there are.
-- reason      `same` where there is no difference; of `lone_case` otherwise
-- cases       tests with this reason
-- share       of all that were run alone, in %
-- instances   that have such a test
-- passing     of these tests, those that pass alone, and so were not debugged
-- runs        that it took to find out, on average
-- example     one of them, and the test before it that makes the difference
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
