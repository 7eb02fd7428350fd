-- What goes wrong while a model locates bugs?
--
-- The localization supplement's S.1.3: `aborted_views` are calls of view_file that showed nothing in the end,
-- `aborted_views_pct` their share of all of its calls in %; `timeouts` are localizations or reviews that took too long;
-- `aborted_outputs` are turns given up for replies that stayed unusable, `aborted_other` for any other reason. Then
-- re-prompts by reason: paths that are not there, lists with such paths, anything else. `trimmed` counts what did not
-- fit into a prompt.
-- localizations                 all that count
-- aborted_views, aborted_views_pct  ended because too many files were opened
-- timeouts                      ended by the clock
-- aborted_outputs               ended because no answer could be read
-- aborted_other                 ended otherwise
-- reprompts_path, reprompts_list, reprompts_other  asked again for a path, a list, or something else that could not be used
-- trimmed                       answers that were cut to the files asked for
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
