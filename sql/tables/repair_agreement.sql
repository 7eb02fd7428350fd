-- Do the golden tests say of a fix here what others found?
--
-- Per snapshot, method and model, of the repairs (every sample) whose source says whether they are resolved: published:
-- how many; judged: those that were measured here, or cannot be run; agree; ours, theirs: fixes that only we, only they
-- call resolved (`repair_difference` names them); agreement: agree of judged in %, with Wilson's 95 % interval.
-- agreement_low, agreement_high  Wilson's 95 % interval
-- agree   judged ones of which both say the same
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
