-- Do the golden tests behave here as the source's lists state?
--
-- Rows of `golden_reference` for the instances that tables count.
-- needs: golden_reference, withdrawn_instance
CREATE OR REPLACE VIEW instance_reference AS
SELECT * FROM golden_reference ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
