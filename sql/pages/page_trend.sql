-- How does each method perform from one snapshot to the next?
--
-- One row per snapshot in use, method and model, the oldest snapshot first. Columns of `table2`.
-- number                    of the snapshot, the oldest first
-- name                      method and model in one
-- difficulty                mean of the snapshot's instances, in logits above the first snapshot's; null without `swt
--                           rate`
-- difficulty_low, difficulty_high  its 95 % interval
-- difficulty_part           difficulties are comparable within a part
-- needs: table2, page_snapshot, snapshot_difficulty
CREATE OR REPLACE VIEW page_trend AS
SELECT
    dense_rank() OVER (ORDER BY s.created_at, s.snapshot) AS number, s.snapshot, s.created_at, s.published,
    t.method || coalesce(' (' || t.model || ')', '') AS name, t.method, t.model, t.n, t.S, t.S_low, t.S_high,
    round(d.difficulty, 2) AS difficulty, round(d.low, 2) AS difficulty_low, round(d.high, 2) AS difficulty_high,
    d.part AS difficulty_part
FROM table2 AS t
JOIN page_snapshot AS s ON s.snapshot = t.snapshot
LEFT JOIN snapshot_difficulty AS d ON d.grader = 'paper' AND NOT d.guarded AND d.snapshot = t.snapshot
WHERE s.withdrawn IS NULL AND t.method NOT IN ('golden', 'nop')
ORDER BY number, name;
