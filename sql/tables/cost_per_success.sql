-- What does a success cost?
--
-- One row per snapshot, method, model and grader, policy `tests-only`. Calls and cost of the method as in
-- `method_cost`. A column per success is null where the method has no success or the value is unknown.
-- instances                 instances with at least one call of the method
-- calls                     replies that count
-- solved                    instances that any of its samples solves
-- robust                    instances with a robust success; null where a success was not fully checked
-- usd_per_success, usd_per_robust  dollars of all calls per solved or robust instance
-- tokens_per_success        tokens of all calls per solved instance
-- seconds_per_success       seconds of all work per solved instance (from `table11`)
-- needs: method_cost, robust_verdict, table11
CREATE OR REPLACE VIEW cost_per_success AS
WITH worked AS (
    SELECT
        v.snapshot, v.method, v.model, v.grader, v.instance_id,
        bool_or(v.solved) AS solved,
        bool_or(v.robust) AS robust,
        bool_or(v.solved AND v.robust IS NULL) AS unchecked
    FROM robust_verdict AS v
    WHERE v.policy = 'tests-only'
    GROUP BY v.snapshot, v.method, v.model, v.grader, v.instance_id
),
hit AS (
    SELECT
        snapshot, method, model, grader,
        count(*) FILTER (solved) AS solved,
        CASE WHEN count(*) FILTER (unchecked) = 0 THEN count(*) FILTER (robust) END AS robust
    FROM worked
    GROUP BY snapshot, method, model, grader
)
SELECT
    m.snapshot, m.method, m.model, h.grader, m.instances, m.calls,
    round(m.cost_usd, 4) AS cost_usd, m.unpriced, h.solved, h.robust,
    round(m.cost_usd / nullif(h.solved, 0), 4) AS usd_per_success,
    round(m.cost_usd / nullif(h.robust, 0), 4) AS usd_per_robust,
    round((m.tokens_in + m.tokens_out) / nullif(h.solved, 0)) AS tokens_per_success,
    round(t.seconds_mean * t.instances / nullif(h.solved, 0), 1) AS seconds_per_success
FROM method_cost AS m
JOIN hit AS h ON h.snapshot = m.snapshot AND h.method = m.method AND h.model = m.model
LEFT JOIN table11 AS t ON t.snapshot = m.snapshot AND t.method = m.method AND t.model = m.model
ORDER BY m.snapshot, h.grader, usd_per_success NULLS LAST, m.method, m.model;
