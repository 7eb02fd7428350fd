-- What did the sub-agents of a repair method do, and what did each kind of them cost?
--
-- Per method, model and sub-agent, over all attempts, finished or not.
-- asked         the model of the sub-agent, which may have one of its own
-- steps         sub-agents that worked
-- attempts      attempts at an instance that they were part of
-- submitted     steps that handed in what was asked of them
-- submitted_rate  share of them, in %
-- calls         replies of the model
-- calls_per_step  on average
-- refused       things that were wrong with replies: tools that there are not, patches that touch tests
-- cost_usd      of these replies when they were made; null where a price is unknown
-- cost_share    of all that the method paid with this model, in %
-- needs: repair_step
CREATE OR REPLACE VIEW repair_steps AS
SELECT
    method, model, agent, coalesce(asked, model) AS asked,
    count(*) AS steps,
    count(DISTINCT attempt_id) AS attempts,
    count(*) FILTER (submitted) AS submitted,
    round(100.0 * count(*) FILTER (submitted) / count(*), 1) AS submitted_rate,
    sum(calls) AS calls,
    round(avg(calls), 1) AS calls_per_step,
    sum(len(reasons)) AS refused,
    CASE WHEN count(*) = count(cost_usd) THEN round(sum(cost_usd), 4) END AS cost_usd,
    CASE WHEN count(*) = count(cost_usd) THEN
        round(100.0 * sum(cost_usd) / nullif(sum(sum(cost_usd)) OVER (PARTITION BY method, model), 0), 1)
    END AS cost_share
FROM repair_step
GROUP BY method, model, agent, coalesce(asked, model)
ORDER BY method, model, agent, coalesce(asked, model);
