-- What each method asked its models, once for each place in its work: the calls that make up what a method costs.
--
-- Rows of `counted_call`, without those about withdrawn instances.
-- needs: counted_call, withdrawn_instance
CREATE OR REPLACE VIEW method_call AS
FROM counted_call ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
