-- Which candidates do tables count?
--
-- Columns of `candidate`. One row per (snapshot, instance_id, method, model, sample): the rows of `placed_candidate`
-- without withdrawn instances.
-- needs: placed_candidate, withdrawn_instance
CREATE OR REPLACE VIEW counted_candidate AS
SELECT * FROM placed_candidate ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
