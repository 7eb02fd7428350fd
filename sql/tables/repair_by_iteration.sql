-- How much do more iterations help a repair method?
--
-- One row per snapshot, method, model and number of iterations (TDFlow paper, figure 3 a: also `tdflow_figure3a`).
-- Methods without any known iteration are not listed.
-- iteration            number of iterations
-- n                    instances with a known result and, if resolved, a known iteration
-- resolved             instances whose fix is right and comes from at most this iteration
-- pass_rate            share of them whose fix is resolved, in %
-- pass_low, pass_high  Wilson's 95 % interval of pass_rate
-- unknown              right fixes with unknown iteration, excluded from n
-- needs: repair_instance, wilson
CREATE OR REPLACE VIEW repair_by_iteration AS
WITH known AS (
    SELECT
        snapshot, method, model, tests, resolved, iteration,
        coalesce(resolved AND iteration IS NULL, false) AS unknown,
        max(iteration) OVER (PARTITION BY snapshot, method, model) AS iterations
    FROM repair_instance
    WHERE resolved IS NOT NULL
),
step AS (SELECT *, unnest(range(1, iterations + 1)) AS up_to FROM known WHERE iterations IS NOT NULL)
SELECT
    snapshot, method, model, tests, up_to AS iteration,
    count(*) FILTER (NOT unknown) AS n,
    count(*) FILTER (resolved AND iteration <= up_to) AS resolved,
    round(100.0 * count(*) FILTER (resolved AND iteration <= up_to) / count(*) FILTER (NOT unknown), 1) AS pass_rate,
    round(
        100 * wilson_low(count(*) FILTER (resolved AND iteration <= up_to), count(*) FILTER (NOT unknown)), 1
    ) AS pass_low,
    round(
        100 * wilson_high(count(*) FILTER (resolved AND iteration <= up_to), count(*) FILTER (NOT unknown)), 1
    ) AS pass_high,
    count(*) FILTER (unknown) AS unknown
FROM step
GROUP BY snapshot, method, model, tests, up_to
ORDER BY snapshot, method, model, up_to;
