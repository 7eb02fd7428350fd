-- Which model calls make up the cost of each method, one reply per position of its work?
--
-- Rows of `counted_call` without withdrawn instances.
-- needs: counted_call, withdrawn_instance
CREATE OR REPLACE VIEW method_call AS
FROM counted_call ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
