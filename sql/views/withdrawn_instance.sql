-- Which instances of which snapshots do tables exclude because they were withdrawn?
--
-- One row per snapshot and instance_id: all instances of a withdrawn snapshot, and a withdrawn instance in every
-- snapshot that has it.
-- `SET VARIABLE withdrawn = true` or `swt query --withdrawn` empties this view, so that every table includes them.
-- needs: task_instance, withdrawal
CREATE OR REPLACE VIEW withdrawn_instance AS
SELECT DISTINCT t.snapshot, t.instance_id
FROM task_instance AS t
WHERE NOT coalesce(getvariable('withdrawn')::BOOLEAN, false)
    AND (
        t.snapshot IN (SELECT snapshot FROM withdrawal WHERE instance_id = '')
        OR t.instance_id IN (SELECT instance_id FROM withdrawal WHERE instance_id <> '')
    );
