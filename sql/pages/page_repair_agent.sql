-- What did the sub-agents of each repair method do on a snapshot, and what did each kind cost?
--
-- Like `repair_steps`, over finished attempts at the instances of one snapshot.
-- agent       kind of sub-agent
-- asked       the model of the sub-agent, which can differ from the method's
-- steps       number of sub-agent runs
-- submitted   steps that submitted the requested result
-- calls       replies of the model
-- cost_usd    dollars of these replies when they were made; null where a price is unknown
-- cost_share  share of the method's total cost with this model, in %
-- needs: repair_story
CREATE OR REPLACE VIEW page_repair_agent AS
SELECT
    snapshot, method, model, who AS agent, asked,
    count(*) AS steps,
    count(*) FILTER (what = 'handed in') AS submitted,
    sum(calls)::BIGINT AS calls,
    CASE WHEN count(*) = count(cost_usd) THEN round(sum(cost_usd), 4) END AS cost_usd,
    CASE WHEN count(*) = count(cost_usd) THEN
        round(100.0 * sum(cost_usd) / nullif(sum(sum(cost_usd)) OVER (PARTITION BY snapshot, method, model), 0), 1)
    END AS cost_share
FROM repair_story
WHERE snapshot IS NOT NULL AND who <> 'tests'
GROUP BY snapshot, method, model, who, asked
ORDER BY snapshot, method, model, cost_usd DESC NULLS LAST, calls DESC, agent;
