-- How does each method do from one snapshot to the next?
--
-- One row per snapshot that is in use, method and model, the oldest first: number of the snapshot, columns of `table2`.
-- number  of the snapshot, the oldest first
-- name    method and model in one
-- needs: table2, page_snapshot
CREATE OR REPLACE VIEW page_trend AS
SELECT
    dense_rank() OVER (ORDER BY s.created_at, s.snapshot) AS number, s.snapshot, s.created_at, s.published,
    t.method || coalesce(' (' || t.model || ')', '') AS name, t.method, t.model, t.n, t.S, t.S_low, t.S_high
FROM table2 AS t
JOIN page_snapshot AS s ON s.snapshot = t.snapshot
WHERE s.withdrawn IS NULL AND t.method NOT IN ('golden', 'nop')
ORDER BY number, name;
