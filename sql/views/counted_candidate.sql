-- The candidates that tables count.
--
-- Columns of `candidate`; one row per (snapshot, instance_id, method, model, sample): rows with a problem (duplicates)
-- and withdrawn instances are left out, and of two that were handed in one after the other the later counts.
-- needs: candidate, withdrawn_instance
CREATE OR REPLACE VIEW counted_candidate AS
SELECT *
FROM candidate ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
WHERE problem = ''
QUALIFY row_number() OVER (
    PARTITION BY snapshot, instance_id, method, model, sample ORDER BY created_at DESC, candidate_id
) = 1;
