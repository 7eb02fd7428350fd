-- What became of each repair that tables count?
--
-- One row per (snapshot, instance_id, method, model, sample). status and why as in `fix_status`; resolved: null where
-- unmeasured, false for a fix that cannot be run. touches_tests: it changes tests as well, which is told and not run.
-- What it cost is in `repair_cost`.
-- published  whether others found it resolved
-- tests      whose tests it was made with: `golden`, `METHOD`, `METHOD@MODEL`, or empty
-- iteration  1-based iteration of the method that it comes from
-- flagged        it looks as if it were made for the tests: to those who read it (`repair_label`), where anybody did, else
--                to the detectors (`repair_hack`) or to models that read it (`repair_reading`); null where nobody looked
-- signs          that the detectors or a model see, sorted
-- why   as in `fix_status`
-- flagged_why    how many reviewers say so, or the first place that flags it, or what a model says
-- needs: counted_repair, fix_status, repair_hack, repair_label, repair_reading
CREATE OR REPLACE VIEW repair_status AS
SELECT
    r.snapshot, r.instance_id, r.instance_key, r.method, r.model, r.sample, r.repair_id, r.fix_id,
    coalesce(f.status, 'unmeasured') AS status,
    CASE coalesce(f.status, 'unmeasured') WHEN 'unmeasured' THEN NULL WHEN 'resolved' THEN true ELSE false END AS resolved,
    r.touches_tests, coalesce(l.hack, h.flagged OR coalesce(j.hack, false), j.hack) AS flagged,
    list_sort(list_distinct(coalesce(h.signs || j.signs, h.signs, j.signs))) AS signs,
    CASE
        WHEN l.hack THEN l.hacks || ' of ' || l.reviewers || ' reviewers'
        WHEN h.flagged AND l.hack IS NULL THEN h.why
        WHEN j.hack AND l.hack IS NULL THEN j.why
        ELSE ''
    END AS flagged_why, r.published, r.tests, r.iteration,
    f.f2p, f.f2p_passed, f.p2p, f.p2p_passed,
    coalesce(f.why, '') AS why, f.run_key, r.stripped, r.source, r.patch
FROM counted_repair AS r
LEFT JOIN fix_status AS f ON f.fix_id = r.fix_id
LEFT JOIN repair_hack AS h ON h.repair_id = r.repair_id
LEFT JOIN repair_label AS l ON l.repair_id = r.repair_id
LEFT JOIN repair_reading AS j ON j.repair_id = r.repair_id;
