-- Which runs did each instance ask for, and what is each of them to it?
--
-- Columns of `run`; one row per run and per name that it has for an instance that asked for it (`run_request`). The names
-- are instance_key, instance_id, suite_kind, suite_id, code_state and variant. Instances that ask for the same run share
-- it, and the row of `run` names the one that made it: views join this one. The instance that made a run asked for it;
-- stores from before there were requests know no more than that, and what `fix_run` says.
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
