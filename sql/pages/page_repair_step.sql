-- Which steps does each repair attempt with a page consist of?
--
-- FROM page_repair_step('2026-11', false). Columns of `repair_story`, for attempts of the snapshot.
-- For an embargoed instance, case_id, made, refused and broken are null, unless `with_golden`. The column what is then
-- shortened to `not applied` where it starts so.
-- needs: repair_story, held_out
CREATE OR REPLACE MACRO page_repair_step(for_snapshot, with_golden) AS TABLE
SELECT
    s.attempt_id, s.position, s.iteration, s.who, s.asked, s.calls, s.did, s.targets, s.passing, s.cost_usd,
    CASE WHEN with_golden OR NOT o.held_out OR NOT starts_with(s.what, 'not applied') THEN s.what ELSE 'not applied' END AS what,
    CASE WHEN with_golden OR NOT o.held_out THEN s.case_id END AS case_id,
    CASE WHEN with_golden OR NOT o.held_out THEN s.made END AS made,
    CASE WHEN with_golden OR NOT o.held_out THEN s.refused END AS refused,
    CASE WHEN with_golden OR NOT o.held_out THEN s.broken END AS broken
FROM repair_story AS s
JOIN held_out AS o ON o.snapshot = s.snapshot AND o.instance_id = s.instance_id
WHERE s.snapshot = for_snapshot
ORDER BY s.attempt_id, s.position;
