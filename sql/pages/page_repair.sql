-- Which data does the page of each repair attempt show?
--
-- FROM page_repair('2026-11', false). One row per finished attempt of the snapshot whose fix counts.
-- A fix and its trajectory reveal the answer of an embargoed instance. So patch, why, lone and trajectory are null
-- there, unless `with_golden`.
-- status, resolved, flagged, signs  as in `repair_status`
-- candidate_id              its tests, if they are a counted candidate
-- suspicions                rules by which it searched for the answer
-- notes                     rules by which it may have (`repair_suspects`)
-- lone                      per test with another outcome alone {iteration, case_id, reason, among, alone, earlier}
-- needs: repair_attempt, counted_repair, repair_status, counted_candidate, repair_suspects, lone_case, held_out
CREATE OR REPLACE MACRO page_repair(for_snapshot, with_golden) AS TABLE
WITH looked AS (
    SELECT
        attempt_id,
        list_sort(list(DISTINCT rule) FILTER (cost = 'suspect')) AS suspicions,
        list_sort(list(DISTINCT rule) FILTER (cost <> 'suspect')) AS notes
    FROM repair_suspects
    WHERE snapshot = for_snapshot
    GROUP BY attempt_id
),
otherwise AS (
    SELECT
        attempt_id,
        list({
            'iteration': iteration, 'case_id': case_id, 'reason': reason, 'among': among, 'alone': alone,
            'earlier': earlier
        } ORDER BY iteration, case_id) AS lone
    FROM lone_case
    WHERE reason <> ''
    GROUP BY attempt_id
)
SELECT
    a.attempt_id, a.instance_id, a.method, a.model, a.method || coalesce(' (' || nullif(a.model, '') || ')', '') AS name,
    a.tests, c.candidate_id, a."end", a.iterations, a.iteration, a.calls, a.cost_usd, a.tests_usd,
    a.started_at, a.finished_at,
    s.status, s.resolved, s.flagged, coalesce(s.signs, []) AS signs,
    coalesce(l.suspicions, []) AS suspicions, coalesce(l.notes, []) AS notes,
    o.held_out AND NOT with_golden AS withheld,
    CASE WHEN NOT withheld THEN a.patch END AS patch,
    CASE WHEN NOT withheld THEN s.why END AS why,
    CASE WHEN NOT withheld THEN coalesce(t.lone, []) END AS lone,
    CASE WHEN NOT withheld THEN a.trajectory END AS trajectory
FROM repair_attempt AS a
JOIN counted_repair AS r ON r.source = a.attempt_id AND r.snapshot = a.snapshot
JOIN repair_status AS s ON s.repair_id = r.repair_id AND s.snapshot = r.snapshot
JOIN held_out AS o ON o.snapshot = a.snapshot AND o.instance_id = a.instance_id
LEFT JOIN counted_candidate AS c
    ON c.snapshot = a.snapshot AND c.instance_id = a.instance_id AND c.sample = 0
    AND c.method || coalesce('@' || c.model, '') = a.tests
LEFT JOIN looked AS l ON l.attempt_id = a.attempt_id
LEFT JOIN otherwise AS t ON t.attempt_id = a.attempt_id
WHERE a.snapshot = for_snapshot
ORDER BY a.instance_id, a.method, a.model;
