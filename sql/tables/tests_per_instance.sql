-- How many tests does a method write for an instance, how bad are they, and is the issue resolved with them?
--
-- Per snapshot, method, model and number of tests (TDFlow paper, figure 5: also `tdflow_figure5`): instances (sample 0),
-- btr: their mean Bad Test Rate in % (figure 5 b), and for each repair method that was given these tests n and pass_rate
-- in % (figure 5 a); both null where there is none.
-- repair, repair_model  method and model of the repair; null where there is none
-- n                     instances of which it is known what the repair did
-- instances   that count
-- pass_rate   share of them whose fix is resolved, in %
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
