-- What does each model cost behind the same method?
--
-- The paper's Table 9. Columns of `method_cost`, the cheapest model of each method first, and usd_per_instance. The
-- sums are over the instances that the method was asked about with the model; cost is null where the price of any call
-- is unknown.
-- usd_per_instance  null where the cost of any call is unknown
-- needs: method_cost
CREATE OR REPLACE VIEW table9 AS
SELECT
    snapshot, method, model, instances, calls, tokens_in, tokens_out,
    round(cost_usd, 2) AS cost_usd, round(cost_usd / instances, 4) AS usd_per_instance, unpriced
FROM method_cost
ORDER BY snapshot, method, usd_per_instance NULLS LAST, model;
