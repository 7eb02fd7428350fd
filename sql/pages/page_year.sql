-- How does each method perform on the pull requests of each year?
--
-- One row per snapshot, method, model and year of the pull request, by the grader `paper`.
-- name           method and model in one
-- year           in which the pull request was opened
-- n              measured instances
-- solved         number of solved instances
-- S              in % of n, solved
-- S_low, S_high  Wilson's 95 % interval of S, in %
-- needs: method_instance, task_instance, wilson
CREATE OR REPLACE VIEW page_year AS
SELECT
    m.snapshot, m.name, m.method, m.model, year(i.created_at) AS year,
    count(*) FILTER (m.measured) AS n,
    count(*) FILTER (m.solved) AS solved,
    round(100.0 * count(*) FILTER (m.solved) / nullif(n, 0), 1) AS S,
    round(100 * wilson_low(count(*) FILTER (m.solved), n), 1) AS S_low,
    round(100 * wilson_high(count(*) FILTER (m.solved), n), 1) AS S_high
FROM method_instance('paper', 'tests-only') AS m
JOIN task_instance AS i ON i.snapshot = m.snapshot AND i.instance_id = m.instance_id
WHERE i.created_at IS NOT NULL
GROUP BY m.snapshot, m.name, m.method, m.model, year(i.created_at)
ORDER BY m.snapshot, m.name, year;
