-- How many tests does a method write for an instance, how many are bad, and do repairs with them resolve the issue?
--
-- One row per snapshot, method, model, number of tests and repair method that used the tests (TDFlow paper, figure 5:
-- also `tdflow_figure5`).
-- repair, repair_model  method and model of the repair; null where there is none
-- instances             instances that count (sample 0)
-- btr                   their mean Bad Test Rate in % (figure 5 b)
-- n                     instances with a known result of the repair; null without a repair
-- pass_rate             share of them whose fix is resolved, in % (figure 5 a); null without a repair
-- needs: test_quality, repair_with_tests
CREATE OR REPLACE VIEW tests_per_instance AS
SELECT
    q.snapshot, q.method, q.model, q.tests, r.repair, r.repair_model,
    count(DISTINCT q.instance_id) AS instances,
    round(100 * avg(q.btr), 1) AS btr,
    CASE WHEN r.repair IS NOT NULL THEN count(r.resolved) END AS n,
    CASE
        WHEN r.repair IS NOT NULL THEN round(100.0 * count(*) FILTER (r.resolved) / count(r.resolved), 1)
    END AS pass_rate
FROM test_quality AS q
LEFT JOIN repair_with_tests AS r ON r.candidate_id = q.candidate_id AND r.snapshot = q.snapshot
GROUP BY q.snapshot, q.method, q.model, q.tests, r.repair, r.repair_model
ORDER BY q.snapshot, q.method, q.model, r.repair, r.repair_model, q.tests;
