-- How often does each repair method resolve the issue, and what does it cost?
--
-- Per snapshot, method and model, sample 0 (TDFlow paper, tables 1 and 2: also `tdflow_table1`, `tdflow_table2`). tests:
-- whose tests it was given; n: instances that were attempted and measured; pass_rate: resolved of n in %, with Wilson's
-- 95 % interval. snapshot_rate: resolved of every instance of the snapshot but the unmeasured ones in %, where an
-- instance that was not attempted is not resolved, as public leaderboards count. touching: repairs that change tests, which is not run of
-- them; resolved_touching: resolved ones among them. flagged: repairs with a sign of test hacking (`hacking` names them);
-- resolved_flagged: resolved ones among them; strict_rate: the pass rate where both kinds count as failed.
-- instances             of the snapshot
-- attempted             those of them that the method handed in a repair for, if an empty one
-- unmeasured            attempted ones that are left out of n: a run is missing
-- unusable              of the repairs, those that cannot be run: empty, not applying, or nothing but tests
-- pass_low, pass_high   Wilson's 95 % interval of pass_rate
-- cost_per_issue        mean dollars for an instance with a repair; null where that of any is unknown
-- test_resolution_cost  the same without what was paid for generating tests
-- unpriced              repairs whose cost is unknown
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
