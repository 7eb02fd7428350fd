-- Which snapshots are there, and what is each?
--
-- One row per name that instances stand under; tables count each of them but the withdrawn. state: `published`, `imported`, `withdrawn`,
-- `trial`, which is published and no benchmark, or `pool`, from which months are published. content: the beginning of the content key. withdrawn: why, where it is.
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
