-- How does a method perform on pull requests from before and after its model's knowledge cutoff?
--
-- The paper's Table 7. Two rows per snapshot, method and model with a known cutoff. `contamination` tests the
-- difference. Grader `paper`, policy `tests-only`, sample 0.
-- created              `before` or `after` the cutoff
-- n                    measured instances of that side
-- W, S, F_X, F_P, P_P  rates over them, in %
-- dc                   mean change coverage (definition `paper`) over these instances, in %; an instance without a
--                      candidate counts as 0
-- needs: method_instance, used_instance, model_fact, change_coverage
CREATE OR REPLACE VIEW table7 AS
SELECT
    m.snapshot, m.method, m.model,
    CASE WHEN i.created_at < f.cutoff THEN 'before' ELSE 'after' END AS created,
    count(*) AS n,
    round(100.0 * count(*) FILTER (m.well_formed) / n, 1) AS W,
    round(100.0 * count(*) FILTER (m.solved) / n, 1) AS S,
    round(100.0 * count(*) FILTER (m.fail_to_any) / n, 1) AS F_X,
    round(100.0 * count(*) FILTER (m.fail_to_pass) / n, 1) AS F_P,
    round(100.0 * count(*) FILTER (m.pass_to_pass) / n, 1) AS P_P,
    round(100 * avg(CASE WHEN m.candidate_id IS NULL THEN 0.0 ELSE d.delta_c END), 1) AS dc
FROM method_instance('paper', 'tests-only') AS m
JOIN model_fact AS f ON f.model = m.model AND f.cutoff IS NOT NULL
JOIN used_instance AS i ON i.snapshot = m.snapshot AND i.instance_id = m.instance_id AND i.created_at IS NOT NULL
LEFT JOIN change_coverage AS d ON d.candidate_id = m.candidate_id AND d.policy = m.policy AND d.definition = 'paper'
WHERE m.measured
GROUP BY m.snapshot, m.method, m.model, created
ORDER BY m.snapshot, m.method, m.model, created DESC;
