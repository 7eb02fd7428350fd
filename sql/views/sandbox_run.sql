-- Which run counts for a test suite on a code state, in each environment and sandbox?
--
-- Runs are compared only within one environment and sandbox. Internal failures (`infrastructure`, `golden-unapplied`)
-- and runs of robustness checks never count.
-- suite_ref        suite_id of a golden or candidate suite; files_key of suite `none`
-- run_key          the run whose outcomes count: untraced before traced, then the latest
-- traced_run_key   the latest run that traced all requested lines; null where there is none. A run whose `detail` names
--                  an `unprobed` file is excluded, because it would report executed lines as not executed
-- finished_at      end of run_key
-- env_finished_at  end of the instance's last run in this environment and sandbox
-- sandbox          the sandbox of the run
-- needs: current_run
CREATE OR REPLACE VIEW sandbox_run AS
WITH usable AS (
    SELECT
        *,
        CASE WHEN suite_kind = 'none' THEN files_key ELSE suite_id END AS suite_ref,
        tracer <> 'none' AND NOT contains(coalesce(detail, ''), 'unprobed: ') AS watched
    FROM current_run
    WHERE coalesce(variant, 'plain') = 'plain' AND status <> 'golden-unapplied'
),
ranked AS (
    SELECT
        *,
        max(finished_at) OVER (PARTITION BY instance_key, env_id, sandbox) AS env_finished_at,
        first_value(CASE WHEN watched THEN run_key END) OVER (
            PARTITION BY instance_key, suite_ref, code_state, env_id, sandbox
            ORDER BY NOT watched, finished_at DESC, run_key
        ) AS traced_run_key
    FROM usable
)
SELECT
    instance_key, suite_ref, suite_kind, suite_id, files_key, code_state, env_id, sandbox,
    run_key, traced_run_key, tracer, status, finished_at, env_finished_at
FROM ranked
QUALIFY row_number() OVER (
    PARTITION BY instance_key, suite_ref, code_state, env_id, sandbox
    ORDER BY tracer <> 'none', finished_at DESC, run_key
) = 1;
