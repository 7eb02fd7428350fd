-- Which snapshots exist, and what is the state of each?
--
-- One row per snapshot name of any instance. Tables count all of them except withdrawn ones.
-- state      `published`, `imported`, `withdrawn`, `trial` (published, but no benchmark), or `pool` (source of the
--            published months)
-- content    the beginning of the content key
-- withdrawn  the reason, if it was withdrawn
-- needs: task_instance, snapshot, withdrawal
CREATE OR REPLACE VIEW snapshot_state AS
WITH held AS (
    SELECT snapshot, count(*) AS instances FROM task_instance GROUP BY snapshot
)
SELECT
    snapshot, coalesce(s.instances, h.instances) AS instances,
    CASE
        WHEN w.reason IS NOT NULL THEN 'withdrawn'
        WHEN s.snapshot IS NULL THEN 'pool'
        WHEN s.manifest = '' THEN 'imported'
        WHEN s.trial THEN 'trial'
        ELSE 'published'
    END AS state,
    left(s.content, 12) AS content, s.previous, s.source, s.created_at, w.reason AS withdrawn
FROM held AS h
FULL JOIN snapshot AS s USING (snapshot)
LEFT JOIN (FROM withdrawal WHERE instance_id = '') AS w USING (snapshot)
ORDER BY s.created_at NULLS LAST, snapshot;
