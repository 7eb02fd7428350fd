-- Which instances of which snapshots do tables leave out, because they were withdrawn?
--
-- One row per snapshot and instance_id: all of a snapshot that was withdrawn, and an instance that was in every snapshot
-- that has it. Whoever asks for them gets no row here, and so all of them everywhere: `SET VARIABLE withdrawn = true`,
-- or `swt query --withdrawn`.
-- needs: task_instance, withdrawal
CREATE OR REPLACE VIEW withdrawn_instance AS
SELECT DISTINCT t.snapshot, t.instance_id
FROM task_instance AS t
WHERE NOT coalesce(getvariable('withdrawn')::BOOLEAN, false)
    AND (
        t.snapshot IN (SELECT snapshot FROM withdrawal WHERE instance_id = '')
        OR t.instance_id IN (SELECT instance_id FROM withdrawal WHERE instance_id <> '')
    );
