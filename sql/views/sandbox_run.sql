-- Which run speaks for one test suite, on one code state, in one environment and sandbox?
--
-- suite_ref       suite_id of a golden or candidate suite; files_key of suite `none`
-- run_key         the run whose outcomes count: untraced before traced, then the latest
-- traced_run_key  the latest run that watched lines, all that it was asked to; null where there is none. One whose `detail`
--                 names a file as `unprobed` would say of lines that ran that they did not
-- finished_at     of run_key;  env_finished_at: of the instance's last run in this environment and sandbox
--
-- Runs compare only within one environment and sandbox; ours that failed (`infrastructure`, `golden-unapplied`) never
-- count, and neither do those of robustness checks.
-- sandbox  where the run took place
-- env_finished_at  end of the instance's last run in this environment and sandbox
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
