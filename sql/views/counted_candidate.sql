-- The candidates that tables count.
--
-- Columns of `candidate`; one row per (snapshot, instance_id, method, model, sample): those of `placed_candidate`, but for
-- withdrawn instances.
-- needs: placed_candidate, withdrawn_instance
CREATE OR REPLACE VIEW counted_candidate AS
SELECT * FROM placed_candidate ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
