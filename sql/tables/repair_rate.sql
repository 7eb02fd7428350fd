-- How often does each repair method resolve the issue, and what does it cost?
--
-- One row per snapshot, method and model, sample 0 (TDFlow paper, tables 1 and 2: also `tdflow_table1`,
-- `tdflow_table2`).
-- tests                 source of the tests that the method had
-- instances             of the snapshot
-- attempted             instances for which the method submitted a repair, possibly an empty one
-- n                     instances that were attempted and measured
-- unmeasured            attempted instances that are excluded from n because a run is missing
-- unusable              repairs that cannot run: empty, not applying, or changing only tests
-- resolved              instances whose fix is resolved
-- pass_rate             resolved in % of n
-- pass_low, pass_high   Wilson's 95 % interval of pass_rate
-- snapshot_rate         resolved in % of all instances of the snapshot without unmeasured ones. An instance without an
--                       attempt counts as not resolved, as on public leaderboards
-- touching              repairs that change tests; that part does not run
-- resolved_touching     resolved ones among them
-- flagged               repairs with a sign of test hacking (`hacking` lists them)
-- resolved_flagged      resolved ones among them
-- strict_rate           pass_rate where repairs that change tests or are flagged count as failed
-- cost_per_issue        mean dollars per instance with a repair; null where any cost is unknown
-- test_resolution_cost  the same without the cost of generating tests
-- unpriced              repairs with unknown cost
-- needs: repair_instance, repair_cost, wilson
CREATE OR REPLACE VIEW repair_rate AS
SELECT
    r.snapshot, r.method, r.model, r.tests,
    count(*) AS instances,
    count(*) FILTER (attempted) AS attempted,
    count(resolved) AS n,
    count(*) FILTER (attempted AND resolved IS NULL) AS unmeasured,
    count(*) FILTER (status = 'unusable') AS unusable,
    count(*) FILTER (resolved) AS resolved,
    round(100.0 * count(*) FILTER (resolved) / nullif(count(resolved), 0), 1) AS pass_rate,
    round(100 * wilson_low(count(*) FILTER (resolved), count(resolved)), 1) AS pass_low,
    round(100 * wilson_high(count(*) FILTER (resolved), count(resolved)), 1) AS pass_high,
    round(
        100.0 * count(*) FILTER (resolved) / nullif(count(*) - count(*) FILTER (attempted AND resolved IS NULL), 0), 1
    ) AS snapshot_rate,
    count(*) FILTER (touches_tests) AS touching,
    count(*) FILTER (touches_tests AND resolved) AS resolved_touching,
    count(*) FILTER (flagged) AS flagged,
    count(*) FILTER (flagged AND resolved) AS resolved_flagged,
    round(100.0 * count(*) FILTER (resolved AND NOT touches_tests AND NOT flagged) / nullif(count(resolved), 0), 1) AS strict_rate,
    CASE WHEN count(*) FILTER (attempted) = count(cost_usd) THEN round(avg(cost_usd), 4) END AS cost_per_issue,
    CASE
        WHEN count(*) FILTER (attempted) = count(cost_usd - tests_usd) THEN round(avg(cost_usd - tests_usd), 4)
    END AS test_resolution_cost,
    count(*) FILTER (attempted) - count(cost_usd) AS unpriced
FROM repair_instance AS r
LEFT JOIN repair_cost AS c ON c.repair_id = r.repair_id AND c.snapshot = r.snapshot
GROUP BY r.snapshot, r.method, r.model, r.tests
ORDER BY r.snapshot, pass_rate DESC NULLS LAST, r.method, r.model;
