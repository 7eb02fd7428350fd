-- Do the golden tests here agree with the published results of repairs?
--
-- One row per snapshot, method and model, over the repairs (every sample) whose source reports whether they are
-- resolved. `repair_difference` lists the differences.
-- published                 number of these repairs
-- judged                    those that were measured here or cannot run
-- agree                     judged repairs with equal results
-- ours, theirs              repairs that only this project, or only the source, calls resolved
-- agreement                 agree in % of judged
-- agreement_low, agreement_high  Wilson's 95 % interval
-- needs: repair_status, wilson
CREATE OR REPLACE VIEW repair_agreement AS
SELECT
    snapshot, method, model,
    count(*) AS published,
    count(resolved) AS judged,
    count(*) FILTER (resolved = published) AS agree,
    count(*) FILTER (resolved AND NOT published) AS ours,
    count(*) FILTER (NOT resolved AND published) AS theirs,
    round(100.0 * count(*) FILTER (resolved = published) / nullif(count(resolved), 0), 1) AS agreement,
    round(100 * wilson_low(count(*) FILTER (resolved = published), count(resolved)), 1) AS agreement_low,
    round(100 * wilson_high(count(*) FILTER (resolved = published), count(resolved)), 1) AS agreement_high
FROM repair_status AS r
WHERE r.published IS NOT NULL
GROUP BY snapshot, method, model
ORDER BY snapshot, method, model;
