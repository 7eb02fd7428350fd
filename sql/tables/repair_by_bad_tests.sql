-- How often does a repair method resolve the issue, by the share of bad tests among those it was given?
--
-- One row per snapshot, repair method and model, test method and model, and band of the Bad Test Rate (TDFlow paper,
-- figure 2: also `tdflow_figure2`).
-- method, model         of the tests
-- repair, repair_model  method and model of the repair
-- btr                   upper end of the band: 0 is exactly 0, and 0.1 is more than 0 and at most 0.1. Null for
--                       instances whose candidate has no test
-- n                     instances for which the method's tests are known
-- resolved              instances whose fix is resolved
-- share                 of all these instances, in %
-- pass_low, pass_high   Wilson's 95 % interval of pass_rate
-- pass_rate             share of instances whose fix is resolved, in %
-- needs: repair_with_tests, wilson
CREATE OR REPLACE VIEW repair_by_bad_tests AS
SELECT
    snapshot, repair, repair_model, method, model,
    ceil(round(10 * btr, 9)) / 10 AS btr,
    count(*) AS n,
    round(100.0 * count(*) / sum(count(*)) OVER (PARTITION BY snapshot, repair, repair_model, method, model), 1) AS share,
    count(*) FILTER (resolved) AS resolved,
    round(100.0 * count(*) FILTER (resolved) / count(*), 1) AS pass_rate,
    round(100 * wilson_low(count(*) FILTER (resolved), count(*)), 1) AS pass_low,
    round(100 * wilson_high(count(*) FILTER (resolved), count(*)), 1) AS pass_high
FROM repair_with_tests
GROUP BY snapshot, repair, repair_model, method, model, ceil(round(10 * btr, 9)) / 10
ORDER BY snapshot, repair, repair_model, method, model, btr NULLS LAST;
