-- How many issues does a repair method resolve within a cost limit per issue?
--
-- One row per snapshot, method, model and limit (TDFlow paper, figure 3 b: also `tdflow_figure3b`). A limit is listed
-- for each cent at which the method resolves more instances.
-- Methods without any known cost are not listed.
-- up_to_usd            the limit per instance, in dollars
-- n                    instances with a known result and, if resolved, a known cost
-- resolved             instances whose fix is right and cost at most the limit
-- pass_rate            share of them whose fix is resolved, in %
-- pass_low, pass_high  Wilson's 95 % interval of pass_rate
-- unknown              right fixes with unknown cost, excluded from n
-- mean_usd             mean dollars per instance with known cost
-- needs: repair_instance, repair_cost, wilson
CREATE OR REPLACE VIEW repair_by_cost AS
WITH known AS (
    SELECT
        r.snapshot, r.method, r.model, r.tests, r.resolved, c.cost_usd,
        ceil(round(100 * c.cost_usd, 6)) / 100 AS cents
    FROM repair_instance AS r
    LEFT JOIN repair_cost AS c ON c.snapshot = r.snapshot AND c.repair_id = r.repair_id
    WHERE resolved IS NOT NULL
),
total AS (
    SELECT
        snapshot, method, model, tests,
        count(*) FILTER (NOT resolved OR cost_usd IS NOT NULL) AS n,
        count(*) FILTER (resolved AND cost_usd IS NULL) AS unknown,
        round(avg(cost_usd), 4) AS mean_usd
    FROM known
    GROUP BY ALL
),
step AS (
    SELECT snapshot, method, model, tests, cents AS up_to_usd, count(*) AS more
    FROM known
    WHERE resolved AND cents IS NOT NULL
    GROUP BY ALL
),
upto AS (
    SELECT
        *,
        sum(more) OVER (
            PARTITION BY snapshot, method, model ORDER BY up_to_usd ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )::BIGINT AS resolved
    FROM step
)
SELECT
    s.snapshot, s.method, s.model, s.tests, s.up_to_usd, t.n, s.resolved,
    round(100.0 * s.resolved / t.n, 1) AS pass_rate,
    round(100 * wilson_low(s.resolved, t.n), 1) AS pass_low,
    round(100 * wilson_high(s.resolved, t.n), 1) AS pass_high,
    t.unknown, t.mean_usd
FROM upto AS s
JOIN total AS t
    ON t.snapshot = s.snapshot AND t.method = s.method AND t.model IS NOT DISTINCT FROM s.model AND t.tests = s.tests
ORDER BY s.snapshot, s.method, s.model, s.up_to_usd;
