-- Audit, must be empty: a stored run that an instance requested, but that no view counts for the instance.
--
-- Runs of a replaced runner version are excluded, because they count for no instance.
-- what    `current_run`: the run is not among the instance's runs · `submission_run`: all runs of a submission are
--         stored, and it is unmeasured · `fix_suite_run`: a suite ran on a proposed fix, and no run counts for it
-- detail  the submission or fix without a run; empty where the run itself is missing
-- needs: run, run_request, current_run, submission, suite, submission_run, fix_run, fix_suite_run
CREATE OR REPLACE VIEW audit_request_not_joined AS
WITH stored AS (
    SELECT q.*, r.env_id, r.sandbox, r.status, coalesce(r.runner_version, '') AS runner, r.finished_at
    FROM run_request AS q
    JOIN run AS r ON r.run_key = q.run_key AND r.status <> 'infrastructure'
),
made AS (
    SELECT instance_key, run_key, coalesce(runner_version, '') AS runner, finished_at
    FROM run
    WHERE status <> 'infrastructure'
    UNION ALL
    SELECT instance_key, run_key, runner, finished_at FROM stored
),
newest AS (
    SELECT instance_key, arg_max(runner, (finished_at, run_key)) AS runner FROM made GROUP BY instance_key
),
counting AS (
    SELECT s.* FROM stored AS s JOIN newest AS n ON n.instance_key = s.instance_key AND n.runner = s.runner
),
plain AS (
    SELECT
        instance_key, env_id, sandbox, code_state,
        CASE WHEN suite_kind = 'none' THEN files_key ELSE suite_id END AS suite_ref
    FROM counting
    WHERE variant = 'plain'
    GROUP BY ALL
),
whole AS (
    SELECT s.candidate_id, s.policy, s.instance_key
    FROM submission AS s
    JOIN suite AS u ON u.suite_id = s.suite_id
    JOIN plain AS p
        ON p.instance_key = s.instance_key
        AND (p.suite_ref = s.suite_id OR (len(u.base_files) > 0 AND p.suite_ref = u.base_files_key))
    WHERE s.well_formed
    GROUP BY s.candidate_id, s.policy, s.instance_key, u.suite_id, p.env_id, p.sandbox
    HAVING count(*) = CASE WHEN len(any_value(u.base_files)) > 0 THEN 4 ELSE 2 END
)
SELECT 'current_run' AS what, c.instance_key, c.instance_id, c.run_key, '' AS detail
FROM counting AS c
ANTI JOIN current_run AS r
    ON r.instance_key = c.instance_key AND r.run_key = c.run_key AND r.code_state = c.code_state
    AND r.variant = c.variant AND r.suite_kind = c.suite_kind AND r.suite_id IS NOT DISTINCT FROM c.suite_id
UNION ALL
SELECT DISTINCT 'submission_run', w.instance_key, '', '', w.candidate_id || ' ' || w.policy
FROM whole AS w
ANTI JOIN submission_run AS r ON r.candidate_id = w.candidate_id AND r.policy = w.policy AND r.measured
UNION ALL
SELECT 'fix_suite_run', f.instance_key, f.instance_id, f.run_key, f.fix_id
FROM fix_run AS f
JOIN counting AS c ON c.run_key = f.run_key AND c.instance_key = f.instance_key AND c.status <> 'unapplied'
ANTI JOIN fix_suite_run AS r ON r.fix_id = f.fix_id AND r.suite_id = f.suite_id;
