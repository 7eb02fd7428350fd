-- Audit, must be empty: a localization whose ranking contradicts its run. Files are missing, or ranks are not 1, 2 and
-- so on.
--
-- rows       number of files in the ranking
-- last_rank  the largest rank among them
-- needs: localization_run, localization
CREATE OR REPLACE VIEW audit_localization_ranks AS
SELECT
    localization_id,
    any_value(files) AS files,
    count(rank) AS rows,
    max(rank) AS last_rank
FROM localization_run
LEFT JOIN localization USING (localization_id)
GROUP BY localization_id
HAVING any_value(files) <> count(rank) OR coalesce(max(rank), 0) <> count(DISTINCT rank) OR count(DISTINCT path) <> count(rank);
