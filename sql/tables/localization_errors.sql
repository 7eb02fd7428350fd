-- Which errors occur while a model locates bugs?
--
-- Section S.1.3 of the localization supplement. One row per snapshot, model, variant and with_tests.
-- localizations             all that count
-- aborted_views, aborted_views_pct  calls of view_file that showed nothing in the end, and their share of all its calls
--                           in %
-- timeouts                  localizations or reviews that took too long
-- aborted_outputs           turns aborted because replies stayed unusable
-- aborted_other             turns aborted for any other reason
-- reprompts_path, reprompts_list, reprompts_other  re-prompts because of a path that does not exist, a list with such
--                           paths, or anything else
-- trimmed                   texts that did not fit into a prompt
-- needs: agent_step
CREATE OR REPLACE VIEW localization_errors AS
SELECT
    snapshot,
    model,
    variant,
    with_tests,
    count(DISTINCT localization_id) AS localizations,
    count(*) FILTER (kind = 'abort-view' AND tool = 'view_file') AS aborted_views,
    round(100 * count(*) FILTER (kind = 'abort-view' AND tool = 'view_file')
        / nullif(count(*) FILTER (tool = 'view_file'), 0), 2) AS aborted_views_pct,
    count(*) FILTER (kind = 'timeout') AS timeouts,
    count(*) FILTER (kind = 'abort' AND reason = 'invalid-output') AS aborted_outputs,
    count(*) FILTER (kind = 'abort' AND reason <> 'invalid-output') AS aborted_other,
    count(*) FILTER (kind = 'reprompt' AND reason = 'invalid-path') AS reprompts_path,
    count(*) FILTER (kind = 'reprompt' AND reason = 'invalid-list') AS reprompts_list,
    count(*) FILTER (kind = 'reprompt' AND reason NOT IN ('invalid-path', 'invalid-list')) AS reprompts_other,
    count(*) FILTER (kind = 'trimmed') AS trimmed
FROM agent_step
GROUP BY ALL
ORDER BY ALL;
