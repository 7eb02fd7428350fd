-- What did each repair that tables count cost?
--
-- One row per repair of `counted_repair`. Calls are those of the same sample. The view reads every call of every
-- method, so queries without costs should not use it.
-- cost_usd   dollars for the instance in total: from the source, else from the method's own model calls; null where
--            unknown
-- tests_usd  dollars for generating tests: from the source, else calls of the step `generate_tests`; null where unknown
-- needs: counted_repair, method_call
CREATE OR REPLACE VIEW repair_cost AS
WITH asked AS (
    SELECT
        snapshot, instance_id, method, model, work_sample AS sample,
        CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END AS cost_usd,
        CASE
            WHEN count(cost_usd) = count(*) THEN coalesce(sum(cost_usd) FILTER (step = 'generate_tests'), 0.0)
        END AS tests_usd
    FROM method_call
    GROUP BY ALL
)
SELECT
    r.snapshot, r.instance_id, r.method, r.model, r.sample, r.repair_id,
    coalesce(r.cost_usd, a.cost_usd) AS cost_usd,
    CASE WHEN r.cost_usd IS NULL THEN a.tests_usd ELSE r.tests_usd END AS tests_usd
FROM counted_repair AS r
LEFT JOIN asked AS a
    ON a.snapshot = r.snapshot AND a.instance_id = r.instance_id AND a.method = r.method
    AND a.model IS NOT DISTINCT FROM r.model AND a.sample = r.sample;
