-- What is the result of every repair method on every instance of its snapshot, sample 0?
--
-- Columns of `repair_status`. An attempt that ended without a fix submits an empty repair, which is not resolved.
-- name       method and model in one
-- tests      source of the tests of the method on this snapshot (several with `+`)
-- attempted  the method submitted a repair, possibly an empty one
-- status     as in `repair_status`; `not-attempted` where the method was not run on the instance
-- resolved   null where the repair is unmeasured or not attempted; rates exclude and count such instances
-- flagged    it shows a sign of test hacking that makes it count as failed
-- why        as in `fix_status`
-- needs: used_instance, counted_repair, repair_status
CREATE OR REPLACE VIEW repair_instance AS
WITH entry AS (
    SELECT snapshot, method, model, string_agg(DISTINCT nullif(tests, ''), '+' ORDER BY nullif(tests, '')) AS tests
    FROM counted_repair
    WHERE sample = 0
    GROUP BY snapshot, method, model
)
SELECT
    e.snapshot, e.method, e.model,
    e.method || coalesce(' (' || e.model || ')', '') AS name,
    coalesce(e.tests, '') AS tests,
    i.instance_id, i.repo,
    r.repair_id IS NOT NULL AS attempted,
    coalesce(r.status, 'not-attempted') AS status,
    r.resolved,
    coalesce(r.touches_tests, false) AS touches_tests,
    coalesce(r.flagged, false) AS flagged,
    r.iteration, r.repair_id, r.why
FROM entry AS e
JOIN (SELECT DISTINCT snapshot, instance_id, repo FROM used_instance) AS i ON i.snapshot = e.snapshot
LEFT JOIN repair_status AS r
    ON r.snapshot = e.snapshot AND r.instance_id = i.instance_id AND r.sample = 0
    AND r.method = e.method AND r.model IS NOT DISTINCT FROM e.model;
