-- Which instances do tables count?
--
-- Columns of `task_instance`, without withdrawn instances.
-- needs: task_instance, withdrawn_instance
CREATE OR REPLACE VIEW used_instance AS
SELECT * FROM task_instance ANTI JOIN withdrawn_instance USING (snapshot, instance_id);
