-- What repair methods handed in, as far as tables count it.
--
-- Columns of `repair`; one row per (snapshot, instance_id, method, model, sample): of two that were handed in one after
-- the other the later, but for withdrawn instances. Fixes that are made of golden patches (`partial`) are nobody's repair.
-- needs: repair, withdrawn_instance
CREATE OR REPLACE VIEW counted_repair AS
SELECT *
FROM repair ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE provenance <> 'oracle'
QUALIFY row_number() OVER (
    PARTITION BY snapshot, instance_id, method, model, sample ORDER BY created_at DESC, repair_id
) = 1;
