-- What does each method cost on each snapshot, in dollars, tokens and calls?
--
-- One row per snapshot, method and model.
-- instances              instances with at least one call of the method
-- calls                  replies that count
-- tokens_in, tokens_out  null where a provider did not report them
-- known_usd              sum of the known costs, in dollars
-- unpriced               calls without a known cost
-- cost_usd               total in dollars; null where the cost of any call is unknown
-- needs: method_call
CREATE OR REPLACE VIEW method_cost AS
SELECT
    snapshot, method, model,
    count(DISTINCT instance_id) AS instances,
    count(*) AS calls,
    CASE WHEN count(tokens_in) = count(*) THEN sum(tokens_in)::BIGINT END AS tokens_in,
    CASE WHEN count(tokens_out) = count(*) THEN sum(tokens_out)::BIGINT END AS tokens_out,
    coalesce(sum(cost_usd), 0.0) AS known_usd,
    count(*) - count(cost_usd) AS unpriced,
    CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END AS cost_usd
FROM method_call
GROUP BY snapshot, method, model;
