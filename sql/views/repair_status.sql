-- What is the status of each repair that tables count?
--
-- One row per (snapshot, instance_id, method, model, sample). Costs are in `repair_cost`.
-- status         as in `fix_status`
-- resolved       null where unmeasured, false for a fix that cannot run
-- touches_tests  it also changes tests; that part is reported and not run
-- published      the source reports the repair as resolved
-- tests          source of the tests that the method had: `golden`, `METHOD`, `METHOD@MODEL`, or empty
-- iteration      1-based iteration of the method that produced it
-- flagged        it seems made for the tests: by human reviewers (`repair_label`) if any, else by the detectors
--                (`repair_hack`) or models (`repair_reading`); null without a review
-- signs          signs that the detectors or a model see, sorted
-- why            as in `fix_status`
-- flagged_why    number of reviewers, or the first place that flags it, or the explanation of a model
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
