-- What does each model cost with the same method?
--
-- The paper's Table 9. Columns of `method_cost`, the cheapest model of each method first. The sums cover the instances
-- with at least one call.
-- usd_per_instance  null where the cost of any call is unknown
-- needs: method_cost
CREATE OR REPLACE VIEW table9 AS
SELECT
    snapshot, method, model, instances, calls, tokens_in, tokens_out,
    round(cost_usd, 2) AS cost_usd, round(cost_usd / instances, 4) AS usd_per_instance, unpriced
FROM method_cost
ORDER BY snapshot, method, usd_per_instance NULLS LAST, model;
