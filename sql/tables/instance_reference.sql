-- Do the golden tests behave here as the source's lists say?
--
-- Rows of `golden_reference` of the instances that tables count. This is the question `reference_check`.
-- needs: golden_reference, withdrawn_instance
CREATE OR REPLACE VIEW instance_reference AS
SELECT * FROM golden_reference ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
