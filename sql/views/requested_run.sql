-- Which runs did each instance request, and under which names?
--
-- Columns of `run`. One row per run and name that an instance requested (`run_request`). Views join this one instead of
-- `run`.
-- The name is instance_key, instance_id, suite_kind, suite_id, code_state and variant. Instances that request the same
-- run share it, and the row of `run` names only the first.
-- The instance that made a run counts as a requester. Older stores without requests have only that instance and
-- `fix_run`.
-- needs: run, run_request, fix_run
CREATE OR REPLACE VIEW requested_run AS
WITH asked AS (
    SELECT run_key, instance_key, instance_id, suite_kind, suite_id, code_state, coalesce(variant, 'plain') AS variant
    FROM run
    UNION
    SELECT run_key, instance_key, instance_id, suite_kind, suite_id, code_state, variant FROM run_request
    UNION
    SELECT f.run_key, f.instance_key, f.instance_id, r.suite_kind, f.suite_id, r.code_state, 'proposed'
    FROM fix_run AS f
    JOIN run AS r ON r.run_key = f.run_key
)
SELECT
    r.* REPLACE (
        a.instance_key AS instance_key, a.instance_id AS instance_id, a.suite_kind AS suite_kind,
        a.suite_id AS suite_id, a.code_state AS code_state, a.variant AS variant
    )
FROM asked AS a
JOIN run AS r ON r.run_key = a.run_key;
