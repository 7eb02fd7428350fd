-- Which repairs do tables count?
--
-- Columns of `repair`. One row per (snapshot, instance_id, method, model, sample): the latest submission, without
-- withdrawn instances.
-- Partial fixes made from golden patches (`partial`) belong to no method and are excluded.
-- needs: repair, withdrawn_instance
CREATE OR REPLACE VIEW counted_repair AS
SELECT *
FROM repair ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE provenance <> 'oracle'
QUALIFY row_number() OVER (
    PARTITION BY snapshot, instance_id, method, model, sample ORDER BY created_at DESC, repair_id
) = 1;
