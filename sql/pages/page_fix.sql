-- Which fixes were proposed for each instance, and which methods reject the wrong ones?
--
-- FROM page_fix('2026-11', false). One row per fix of an instance of the snapshot.
-- why names golden cases, and hack_why may quote their expectations. Both are null for an embargoed instance, unless
-- `with_golden`.
-- method                    all methods that proposed the fix
-- status, why               as in `fix_status`
-- rejected_by, accepted_by  names of the methods whose counted candidate ran on the fix
-- signs                     signs of test hacking that the detectors or a model see; null without a check
-- flagged                   it counts as failed, as in `repair_status`; null without a check
-- reviewers                 number of human reviewers who see test hacking; null without a review
-- needs: repair, repair_hack, repair_label, repair_reading, fix_status, fix_rejection, counted_candidate
-- needs: counted_policy, held_out
CREATE OR REPLACE MACRO page_fix(for_snapshot, with_golden) AS TABLE
WITH tried AS (
    SELECT r.fix_id, r.rejected, c.method || coalesce(' (' || c.model || ')', '') AS name
    FROM fix_rejection AS r
    JOIN counted_policy('tests-only') AS p ON p.candidate_id = r.candidate_id AND p.policy = r.policy
    JOIN counted_candidate AS c ON c.candidate_id = r.candidate_id
    WHERE c.snapshot = for_snapshot
),
proposed AS (
    SELECT
        instance_key, fix_id,
        string_agg(DISTINCT r.method, ', ' ORDER BY r.method) AS method,
        bool_or(r.touches_tests) AS touches_tests,
        list_sort(list_distinct(flatten(list(coalesce(h.signs || j.signs, h.signs, j.signs))))) AS signs,
        bool_or(coalesce(l.hack, h.flagged OR coalesce(j.hack, false), j.hack)) AS flagged,
        max(l.hacks || ' of ' || l.reviewers) AS reviewers,
        coalesce(nullif(max(h.why), ''), nullif(max(j.why), '')) AS hack_why
    FROM repair AS r
    LEFT JOIN repair_hack AS h ON h.repair_id = r.repair_id
    LEFT JOIN repair_label AS l ON l.repair_id = r.repair_id
    LEFT JOIN repair_reading AS j ON j.repair_id = r.repair_id
    WHERE r.snapshot = for_snapshot
    GROUP BY instance_key, fix_id
)
SELECT
    o.instance_id, f.fix_id, f.method, f.touches_tests, f.signs, f.flagged, f.reviewers, s.status,
    CASE WHEN with_golden OR NOT o.held_out THEN f.hack_why END AS hack_why,
    CASE WHEN with_golden OR NOT o.held_out THEN s.why END AS why,
    coalesce(list(DISTINCT t.name ORDER BY t.name) FILTER (t.rejected), []) AS rejected_by,
    coalesce(list(DISTINCT t.name ORDER BY t.name) FILTER (NOT t.rejected), []) AS accepted_by
FROM proposed AS f
JOIN held_out AS o ON o.instance_key = f.instance_key AND o.snapshot = for_snapshot
JOIN fix_status AS s ON s.fix_id = f.fix_id
LEFT JOIN tried AS t ON t.fix_id = f.fix_id
GROUP BY ALL
ORDER BY o.instance_id, f.method, f.fix_id;
