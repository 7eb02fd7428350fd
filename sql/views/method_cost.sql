-- What does each method cost on each snapshot, in dollars, tokens and calls?
--
-- Per snapshot, method and model: instances (those that it asked anything for), calls; tokens_in, tokens_out (null
-- where a provider did not say); known_usd: the dollars that are known; unpriced: calls whose cost is not; cost_usd:
-- null where any call's cost is unknown, never the sum of a part.
-- instances              those that the method asked anything for
-- calls                  replies that count
-- tokens_in, tokens_out  null where a provider did not say
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
