-- Which traced runs executed each changed line of a submission's golden patch?
--
-- One row per (candidate_id, policy, path, side, line), with its instance_key. `before` lines use the runs on `before`
-- (Xr), `after` lines the runs on `after` (Xa).
-- Both states can have the same line number, so the side is part of the key.
-- golden, reference, none  number of contexts that executed the line
-- more                     the candidate's run executed it more often than suite `none` did on `after`, independent of
--                          the side (the public harness's base); null where both executed it and a count is missing
-- candidate_outside        the candidate's run executed it outside every case
-- t_hit                    some case of T executed it
-- statement                a golden or `none` run on that side loaded the file and has code for the line
-- kept: beside the runs
-- needs: submission_trace, changed_line, line_context, line_hit, submission_run, submission_case, case_pair, watched_file
CREATE OR REPLACE VIEW trace_line AS
WITH hit AS MATERIALIZED (
    FROM line_context
),
line AS (
    SELECT
        s.instance_key, s.candidate_id, s.policy, x.path, x.side, x.line, s.none_after AS none_after_run,
        CASE WHEN x.side = 'before' THEN s.golden_before ELSE s.golden_after END AS golden_run,
        CASE WHEN x.side = 'before' THEN s.reference_before ELSE s.reference_after END AS reference_run,
        CASE WHEN x.side = 'before' THEN s.none_before ELSE s.none_after END AS none_run,
        CASE WHEN x.side = 'before' THEN s.candidate_before ELSE s.candidate_after END AS candidate_run
    FROM submission_trace AS s
    JOIN (SELECT DISTINCT instance_key, path, side, line FROM changed_line) AS x USING (instance_key)
    WHERE s.measured_swt_bench
),
own AS (
    SELECT
        t.candidate_id, t.policy,
        unnest([
            {'code_state': 'before', 'run_key': t.candidate_before, 'judged_run': r.candidate_before},
            {'code_state': 'after', 'run_key': t.candidate_after, 'judged_run': r.candidate_after}
        ], recursive := true)
    FROM submission_trace AS t
    JOIN submission_run AS r ON r.candidate_id = t.candidate_id AND r.policy = t.policy
),
t_case AS (
    SELECT
        o.candidate_id, o.policy, o.run_key, o.judged_run,
        CASE WHEN o.code_state = 'before' THEN coalesce(c.before_id, c.after_id, c.case_id)
            ELSE coalesce(c.after_id, c.before_id, c.case_id) END AS own_id
    FROM own AS o
    JOIN submission_case AS c ON c.candidate_id = o.candidate_id AND c.policy = o.policy AND c.in_t
),
t_line AS (
    SELECT DISTINCT o.candidate_id, o.policy, h.run_key, h.path, unnest(h.lines) AS line
    FROM t_case AS o
    LEFT JOIN case_pair AS p ON p.run_key = o.judged_run AND p.case_id = o.own_id AND p.other_run = o.run_key
    JOIN line_hit AS h ON h.run_key = o.run_key AND h.case_id = coalesce(p.other_case, o.own_id)
),
code AS (
    SELECT DISTINCT run_key, path, unnest(executable) AS line FROM watched_file WHERE loaded
)
SELECT
    l.instance_key, l.candidate_id, l.policy, l.path, l.side, l.line,
    coalesce(g.contexts, 0) AS golden,
    coalesce(r.contexts, 0) AS reference,
    coalesce(n.contexts, 0) AS none,
    CASE
        WHEN c.line IS NULL THEN false
        WHEN na.line IS NULL THEN true
        ELSE c.executions > na.executions
    END AS more,
    coalesce(c.outside, false) AS candidate_outside,
    t.line IS NOT NULL AS t_hit,
    gc.line IS NOT NULL OR nc.line IS NOT NULL AS statement
FROM line AS l
LEFT JOIN hit AS g ON g.run_key = l.golden_run AND g.path = l.path AND g.line = l.line
LEFT JOIN hit AS r ON r.run_key = l.reference_run AND r.path = l.path AND r.line = l.line
LEFT JOIN hit AS n ON n.run_key = l.none_run AND n.path = l.path AND n.line = l.line
LEFT JOIN hit AS c ON c.run_key = l.candidate_run AND c.path = l.path AND c.line = l.line
LEFT JOIN hit AS na ON na.run_key = l.none_after_run AND na.path = l.path AND na.line = l.line
LEFT JOIN t_line AS t
    ON t.candidate_id = l.candidate_id AND t.policy = l.policy
    AND t.run_key = l.candidate_run AND t.path = l.path AND t.line = l.line
LEFT JOIN code AS gc ON gc.run_key = l.golden_run AND gc.path = l.path AND gc.line = l.line
LEFT JOIN code AS nc ON nc.run_key = l.none_run AND nc.path = l.path AND nc.line = l.line;
