-- What would the public harness read for each case, in its four cells?
--
-- One row per (candidate_id, policy, case_id) for which its log has a line in some cell. Cases are compared by their
-- ids.
-- An outcome is `missing` where there is no line. A case that never began or never ended has no line.
-- An uncollectable module is a case of its own and gives no outcome for its cases. The lines depend on the runner.
-- pytest prints all lines at the end of the session (`-rA`). It prints none if the session crashed, timed out or failed
-- internally. Internal failures are exit code 3, or a code from `pytest.exit`.
-- An uncollectable module ends the pytest session before its first case. A skip has no name: its case_id is `[n]` if n
-- cases are skipped there.
-- Django prints each case as it ends. The parser ignores set-ups and teardowns that cases share. It reads failures in
-- the report at the end, so a crashed session has none. The same holds for unittest.
-- sympy prints each case as it ends. The parser ignores skipped cases and modules that cannot be imported.
-- The view does not repeat errors of the log parsers. Examples are captured output that looks like a result, ids cut at
-- a space, and Django's lines after a failure (metrics: slips).
-- none_before, none_after            outcome in suite `none` on each code state, as the harness reads it
-- candidate_before, candidate_after  outcome in the candidate's suite on each code state, as the harness reads it
-- Source: log parsers and test commands of the harness, commit of 2026-07-23. `tests/sql/test_harness_logs.py` compares
-- these lines with real logs.
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
                THEN '[' || count(*) OVER (
                    PARTITION BY candidate_id, policy, cell, outcome, path, qualname, message
                ) || ']'
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
