-- How many fixes are right among those that generated tests accept?
--
-- One row per test method, repair method and scope of a snapshot (SWT-Bench paper, section 5, filtering code fixes with
-- generated tests). Shares in %, with Wilson's 95 % intervals.
-- method, model             of the tests
-- repair, repair_model      method and model of the repair; null for all repair methods together
-- scope                     `all` fixes, where a fix of an instance without a test is not kept; or fixes of instances
--                           with a test (`tested`)
-- fixes                     fixes with complete results
-- unmeasured                the other fixes, excluded
-- resolved                  right fixes
-- base_precision            share of right fixes among all
-- kept                      fixes on which every test passes (`fix_filter`)
-- kept_resolved             right fixes among the kept ones
-- precision                 right fixes as a share of the kept ones
-- recall                    kept right fixes as a share of all right fixes
-- lift                      precision divided by base_precision
-- precision_low, precision_high  Wilson's 95 % interval
-- recall_low, recall_high   Wilson's 95 % interval
-- robust_kept, robust_resolved  kept fixes and right ones among them, by robust tests; null if unchecked is not 0
-- robust_precision, robust_recall  by robust tests, in %; null if unchecked is not 0
-- unchecked                 kept fixes whose test was not fully checked
-- strength                  as in `strength`
-- strength_fixes            pairs of a solved candidate and a wrong fix in `strength`
-- needs: repair_kept, strength, wilson
CREATE OR REPLACE VIEW repair_filter AS
WITH scoped AS (
    SELECT *, unnest(CASE WHEN tested THEN ['all', 'tested'] ELSE ['all'] END) AS scope FROM repair_kept
),
counted AS (
    SELECT
        snapshot, method, model, repair, repair_model, scope,
        count(*) FILTER (measured) AS fixes,
        count(*) FILTER (NOT measured) AS unmeasured,
        count(*) FILTER (measured AND resolved) AS resolved,
        count(*) FILTER (kept) AS kept,
        count(*) FILTER (kept AND resolved) AS kept_resolved,
        count(*) FILTER (kept AND robust IS NULL) AS unchecked,
        count(*) FILTER (robust) AS robust_kept,
        count(*) FILTER (robust AND resolved) AS robust_resolved
    FROM scoped
    GROUP BY GROUPING SETS (
        (snapshot, method, model, scope, repair, repair_model), (snapshot, method, model, scope)
    )
)
SELECT
    c.snapshot, c.method, c.model, c.repair, c.repair_model, c.scope, c.fixes, c.unmeasured, c.resolved,
    round(100.0 * c.resolved / nullif(c.fixes, 0), 1) AS base_precision,
    c.kept, c.kept_resolved,
    round(100.0 * c.kept_resolved / nullif(c.kept, 0), 1) AS precision,
    round(100 * wilson_low(c.kept_resolved, c.kept), 1) AS precision_low,
    round(100 * wilson_high(c.kept_resolved, c.kept), 1) AS precision_high,
    round(c.kept_resolved * c.fixes / nullif(c.kept * c.resolved, 0)::DOUBLE, 2) AS lift,
    round(100.0 * c.kept_resolved / nullif(c.resolved, 0), 1) AS recall,
    round(100 * wilson_low(c.kept_resolved, c.resolved), 1) AS recall_low,
    round(100 * wilson_high(c.kept_resolved, c.resolved), 1) AS recall_high,
    c.unchecked,
    CASE WHEN c.unchecked = 0 THEN c.robust_kept END AS robust_kept,
    CASE WHEN c.unchecked = 0 THEN c.robust_resolved END AS robust_resolved,
    CASE WHEN c.unchecked = 0 THEN round(100.0 * c.robust_resolved / nullif(c.robust_kept, 0), 1) END AS robust_precision,
    CASE WHEN c.unchecked = 0 THEN round(100.0 * c.robust_resolved / nullif(c.resolved, 0), 1) END AS robust_recall,
    s.strength, s.fixes AS strength_fixes
FROM counted AS c
LEFT JOIN strength AS s
    ON s.snapshot = c.snapshot AND s.method = c.method AND s.model IS NOT DISTINCT FROM c.model
ORDER BY c.snapshot, c.method, c.model, c.scope, c.repair NULLS LAST, c.repair_model;
