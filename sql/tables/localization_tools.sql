-- How often does each model use its tools, and how often does it open the same file again?
--
-- The localization supplement's S.1.2: calls in all and per instance, those that showed nothing included.
-- `unique_views` counts a file once for each instance (over all top_n and samples), `unique_paths` once in all, as the
-- supplement's own count does; `redundancy` is view_file divided by either, null where nothing was viewed.
-- instances                     localized ones
-- localizations                 all that count
-- bm25, extract_relevant, view_file, view_readme  uses of the tool
-- bm25_each, extract_relevant_each, view_file_each  uses for one localization
-- unique_views                  files opened, each once for a localization
-- unique_paths                  files named, each once for a localization
-- redundancy                    share of views that open a file again
-- redundancy_paths              share of the named files that were named before
-- needs: agent_step
CREATE OR REPLACE VIEW localization_tools AS
SELECT
    snapshot,
    model,
    variant,
    with_tests,
    count(DISTINCT instance_key) AS instances,
    count(DISTINCT localization_id) AS localizations,
    count(*) FILTER (tool = 'bm25') AS bm25,
    round(count(*) FILTER (tool = 'bm25') / count(DISTINCT instance_key), 1) AS bm25_each,
    count(*) FILTER (tool = 'extract_relevant') AS extract_relevant,
    round(count(*) FILTER (tool = 'extract_relevant') / count(DISTINCT instance_key), 1) AS extract_relevant_each,
    count(*) FILTER (tool = 'view_file') AS view_file,
    round(count(*) FILTER (tool = 'view_file') / count(DISTINCT instance_key), 1) AS view_file_each,
    count(*) FILTER (tool = 'view_readme') AS view_readme,
    count(DISTINCT (instance_key, path)) FILTER (tool = 'view_file') AS unique_views,
    count(DISTINCT path) FILTER (tool = 'view_file') AS unique_paths,
    round(count(*) FILTER (tool = 'view_file')
        / nullif(count(DISTINCT (instance_key, path)) FILTER (tool = 'view_file'), 0), 2) AS redundancy,
    round(count(*) FILTER (tool = 'view_file')
        / nullif(count(DISTINCT path) FILTER (tool = 'view_file'), 0), 2) AS redundancy_paths
FROM agent_step
GROUP BY ALL
ORDER BY ALL;
