-- What did the sub-agents of a repair method do, and what did each kind cost?
--
-- One row per method, model, sub-agent and its model, over all attempts, finished or not.
-- asked           the model of the sub-agent, which can differ from the method's
-- steps           number of sub-agent runs
-- attempts        attempts at an instance with this sub-agent
-- submitted       steps that submitted the requested result
-- submitted_rate  their share, in %
-- calls           replies of the model
-- calls_per_step  on average
-- refused         errors in replies: tools that do not exist, patches that change tests
-- cost_usd        dollars of these replies when they were made; null where a price is unknown
-- cost_share      share of the method's total cost with this model, in %
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
