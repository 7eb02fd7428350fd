-- Which instances are held out, so that a report leaves their golden side out?
--
-- One row per snapshot and instance_id. held_out: false where the instance is in a snapshot that was imported (its
-- golden side is public), or in a published month that another one follows; true for the newest month, for what was
-- never published, and for instances that were withdrawn.
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
