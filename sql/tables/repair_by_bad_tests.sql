-- How often does a repair method resolve the issue, by the share of bad ones among the tests that it was given?
--
-- Per snapshot, repair method and model, and Bad Test Rate (TDFlow paper, figure 2: also `tdflow_figure2`): 0, then in
-- tenths, each with its upper end: btr 0.1 is more than 0 and at most 0.1. n: instances of which it is known which tests
-- the method had; share: theirs of all of these, in %; pass_rate with Wilson's 95 % interval, in %.
-- method, model        of the tests
-- repair, repair_model  method and model of the repair
-- btr                  upper end of the Bad Test Rate; null for instances whose candidate has no test
-- pass_low, pass_high  Wilson's 95 % interval of pass_rate
-- pass_rate   share of instances whose fix is resolved, in %
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
