-- What does each method cost with the same model?
--
-- The paper's Table 10. Columns of `table9`, the cheapest method of each model first.
-- usd_per_instance  null where the cost of any call is unknown
-- needs: method_cost
CREATE OR REPLACE VIEW table10 AS
SELECT
    snapshot, model, method, instances, calls, tokens_in, tokens_out,
    round(cost_usd, 2) AS cost_usd, round(cost_usd / instances, 4) AS usd_per_instance, unpriced
FROM method_cost
ORDER BY snapshot, model, usd_per_instance NULLS LAST, method;
