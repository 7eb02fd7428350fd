-- Which instances are embargoed, so that a report hides their golden side?
--
-- One row per snapshot and instance_id.
-- held_out  false for an instance of an imported snapshot (its golden side is public), or of a published month that
--           another month follows. True for the newest month, and for unpublished or withdrawn instances
-- needs: task_instance, snapshot, withdrawal
CREATE OR REPLACE VIEW held_out AS
WITH followed AS (
    SELECT previous AS snapshot FROM snapshot
    WHERE previous <> '' AND snapshot NOT IN (SELECT snapshot FROM withdrawal WHERE instance_id = '')
),
open AS (
    SELECT DISTINCT t.instance_key
    FROM task_instance AS t
    JOIN snapshot AS s ON s.snapshot = t.snapshot
    WHERE s.manifest = '' OR s.snapshot IN (SELECT snapshot FROM followed)
)
SELECT
    t.snapshot, t.instance_id, t.instance_key,
    o.instance_key IS NULL OR t.instance_id IN (SELECT instance_id FROM withdrawal) AS held_out
FROM task_instance AS t
LEFT JOIN open AS o ON o.instance_key = t.instance_key;
