-- Which data does the page of each snapshot show?
--
-- One row per snapshot, the oldest first. Columns of `snapshot`.
-- withdrawn     the reason; null where the snapshot is in use
-- held_out      number of embargoed instances
-- health        number of instances of each health
-- first, last   when the first and the last pull request were opened
-- repositories  number of repositories
-- published     it has a manifest; false for an import
-- needs: snapshot, withdrawal, held_out, instance_health
CREATE OR REPLACE VIEW page_snapshot AS
WITH counted AS (
    SELECT snapshot, health, count(*) AS instances
    FROM instance_health
    GROUP BY snapshot, health
),
healthy AS (
    SELECT snapshot, list({'health': health, 'instances': instances} ORDER BY instances DESC, health) AS health
    FROM counted
    GROUP BY snapshot
),
dated AS (
    SELECT
        snapshot, min(created_at) AS first, max(created_at) AS last, count(DISTINCT repo) AS repositories
    FROM instance_health
    GROUP BY snapshot
),
secret AS (SELECT snapshot, count(*) FILTER (held_out) AS held_out FROM held_out GROUP BY snapshot)
SELECT
    s.snapshot, s.instances, s.content, s.source, s.created_at, s.previous, s.manifest <> '' AS published,
    w.reason AS withdrawn, coalesce(k.held_out, 0) AS held_out,
    coalesce(h.health, []) AS health, d.first, d.last, coalesce(d.repositories, 0) AS repositories
FROM snapshot AS s
LEFT JOIN withdrawal AS w ON w.snapshot = s.snapshot AND w.instance_id = ''
LEFT JOIN secret AS k ON k.snapshot = s.snapshot
LEFT JOIN healthy AS h ON h.snapshot = s.snapshot
LEFT JOIN dated AS d ON d.snapshot = s.snapshot
ORDER BY s.created_at, s.snapshot;
