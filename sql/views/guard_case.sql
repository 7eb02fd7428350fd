-- What is the outcome of each case of a submission in its robustness checks and in the run that counts?
--
-- One row per (candidate_id, policy, run_key, case_id), with its guard and code_state.
-- An outcome is `missing` if the run has no such case, and `error` if its module cannot be collected.
-- pair      `id`, `place` or `ambiguous`: how the case was found in the check's run (`case_pair`)
-- expected  the outcome in the run that counts
-- observed  the outcome in the check's run
-- in_t      as in `submission_case`
-- own       the case is in T, or its outcome differs with the candidate
-- needs: guard_run, submission_run, submission_case, case_pair, case_outcome
CREATE OR REPLACE VIEW guard_case AS
WITH uncollected AS (
    SELECT run_key, path FROM case_outcome WHERE phase = 'collect' AND outcome = 'error' GROUP BY ALL
),
observed AS (
    SELECT run_key, case_id, min(outcome) AS outcome FROM case_outcome GROUP BY run_key, case_id
),
asked AS (
    SELECT
        g.guard, g.code_state, g.run_key, c.*,
        CASE WHEN g.code_state = 'before' THEN r.candidate_before ELSE r.candidate_after END AS judged_run,
        CASE WHEN g.code_state = 'before' THEN c.candidate_before ELSE c.candidate_after END AS expected,
        CASE WHEN g.code_state = 'before' THEN coalesce(c.before_id, c.after_id, c.case_id)
            ELSE coalesce(c.after_id, c.before_id, c.case_id) END AS own_id
    FROM guard_run AS g
    JOIN submission_run AS r ON r.candidate_id = g.candidate_id AND r.policy = g.policy
    JOIN submission_case AS c ON c.candidate_id = g.candidate_id AND c.policy = g.policy
    WHERE NOT c.is_collect OR c.in_t
)
SELECT
    a.candidate_id, a.policy, a.guard, a.code_state, a.run_key, a.case_id, a.expected,
    coalesce(o.outcome, CASE WHEN u.path IS NOT NULL THEN 'error' END, 'missing') AS observed,
    coalesce(p.pair, 'id') AS pair,
    a.in_t,
    a.in_t OR (a.none_before, a.none_after) IS DISTINCT FROM (a.candidate_before, a.candidate_after) AS own
FROM asked AS a
LEFT JOIN case_pair AS p ON p.run_key = a.judged_run AND p.case_id = a.own_id AND p.other_run = a.run_key
LEFT JOIN observed AS o ON o.run_key = a.run_key AND o.case_id = coalesce(p.other_case, a.own_id)
LEFT JOIN uncollected AS u ON u.run_key = a.run_key AND u.path = a.path;
