-- What the public harness would know of each case, in its four cells.
--
-- One row per (candidate_id, policy, case_id) that its log has a line for in some cell: recorded outcomes, `missing` where
-- there is no line. Unlike in `submission_case`, ids are compared as they are, and an uncollectable module says nothing about its
-- cases: its one line is a case of its own. Which lines there are depends on what runs the tests there:
-- pytest   prints all lines at the end of the session (`-rA`): none where it crashed, timed out or failed internally, which is
--          exit code 3 or one of `pytest.exit`. A module that cannot be collected ends the session before its first case.
--          A skip is printed by its place and not by a name: its case_id is `[n]`, n cases being skipped there.
-- Django   prints each case as it ends, under its name; a set-up or teardown that cases share is not read as a case. That a case
--          failed is read from the report at the end, so a session that crashed has only its other outcomes. unittest likewise.
-- sympy    prints each case as it ends; of skipped cases and modules that cannot be imported nothing that is read.
-- A case that never began, or that the end of the session cut off, has no line. What the log parser makes of captured output, of
-- ids with spaces and of lines that it loses is not repeated here: the harness's slips are not ours (metrics: slips).
-- Source: the harness's log parsers and test commands, commit of 2026-07-23; compared on real logs by tests/runner_logs.
-- needs: submission_run, run, case_outcome, environment
CREATE OR REPLACE VIEW harness_case AS
WITH cell AS (
    SELECT
        candidate_id, policy, env_id,
        unnest([
            {'cell': 'none_before', 'run_key': none_before}, {'cell': 'none_after', 'run_key': none_after},
            {'cell': 'candidate_before', 'run_key': candidate_before},
            {'cell': 'candidate_after', 'run_key': candidate_after}
        ], recursive := true)
    FROM submission_run
    WHERE measured
),
fact AS (
    SELECT
        c.candidate_id, c.policy, c.cell, o.case_id, o.path, o.qualname, o.label, o.outcome, o.message,
        CASE WHEN e.runner IN ('django', 'unittest') THEN 'unittest' ELSE coalesce(e.runner, 'pytest') END AS runner,
        r.status = 'completed' AS is_whole,
        coalesce(r.exit_code, 0) IN (0, 1, 2, 4, 5) AS has_summary,
        o.phase = 'collect' AS is_collect,
        o.phase IN ('setup', 'teardown') AND o.duration_s IS NULL AS is_shared,
        bool_or(o.phase = 'collect' AND o.outcome = 'error' AND o.label <> '') OVER (
            PARTITION BY c.candidate_id, c.policy, c.cell
        ) AS is_interrupted
    FROM cell AS c
    JOIN run AS r ON r.run_key = c.run_key
    JOIN case_outcome AS o ON o.run_key = c.run_key
    LEFT JOIN (SELECT DISTINCT env_id, runner FROM environment) AS e ON e.env_id = c.env_id
),
line AS (
    SELECT *
    FROM fact
    WHERE label <> '' AND CASE runner
        WHEN 'pytest' THEN is_whole AND has_summary AND (is_collect OR NOT is_interrupted)
        WHEN 'unittest' THEN CASE
            WHEN is_collect THEN regexp_matches(path, '(^|/)test[^/]*$')
            ELSE NOT is_shared AND (is_whole OR outcome <> 'failed')
        END
        ELSE NOT is_collect AND outcome <> 'skipped'
    END
),
named AS (
    SELECT
        candidate_id, policy, cell, outcome,
        CASE
            WHEN runner = 'pytest' AND outcome = 'skipped'
                THEN '[' || count(*) OVER (PARTITION BY candidate_id, policy, cell, outcome, path, qualname, message) || ']'
            ELSE case_id
        END AS case_id
    FROM line
)
SELECT
    candidate_id, policy, case_id,
    coalesce(min(outcome) FILTER (cell = 'none_before'), 'missing') AS none_before,
    coalesce(min(outcome) FILTER (cell = 'none_after'), 'missing') AS none_after,
    coalesce(min(outcome) FILTER (cell = 'candidate_before'), 'missing') AS candidate_before,
    coalesce(min(outcome) FILTER (cell = 'candidate_after'), 'missing') AS candidate_after
FROM named
GROUP BY candidate_id, policy, case_id;
