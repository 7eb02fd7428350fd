-- How often does each model use its tools, and how often does it reopen a file?
--
-- Section S.1.2 of the localization supplement: calls in total and per instance, calls without a result included.
-- instances                 localized instances
-- localizations             all that count
-- bm25, extract_relevant, view_file, view_readme  uses of the tool
-- bm25_each, extract_relevant_each, view_file_each  uses per instance
-- unique_views              viewed files, each counted once per instance (over all top_n and samples)
-- unique_paths              viewed paths, each counted once in total, as in the supplement
-- redundancy                view_file divided by unique_views; null where nothing was viewed
-- redundancy_paths          view_file divided by unique_paths; null where nothing was viewed
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
