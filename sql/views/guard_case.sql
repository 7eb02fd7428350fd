-- What does each case of a submission do in its guard runs, and what did it do in the run that counts?
--
-- One row per (candidate_id, policy, run_key, case_id), with its guard and code_state: expected and observed outcomes, `missing` where the
-- run has no such case, `error` where its module could not be collected. in_t as in `submission_case`; own: the case
-- does not do with the candidate what it does without.
-- expected  the outcome in the run that counts
-- observed  the outcome in the guard run
-- needs: guard_run, submission_case, case_outcome
CREATE OR REPLACE VIEW guard_case AS
WITH uncollected AS (
    SELECT run_key, path FROM case_outcome WHERE phase = 'collect' AND outcome = 'error' GROUP BY ALL
),
observed AS (
    SELECT run_key, case_id, min(outcome) AS outcome FROM case_outcome GROUP BY run_key, case_id
)
SELECT
    g.candidate_id, g.policy, g.guard, g.code_state, g.run_key, c.case_id,
    CASE WHEN g.code_state = 'before' THEN c.candidate_before ELSE c.candidate_after END AS expected,
    coalesce(o.outcome, CASE WHEN u.path IS NOT NULL THEN 'error' END, 'missing') AS observed,
    c.in_t,
    c.in_t OR (c.none_before, c.none_after) IS DISTINCT FROM (c.candidate_before, c.candidate_after) AS own
FROM guard_run AS g
JOIN submission_case AS c ON c.candidate_id = g.candidate_id AND c.policy = g.policy
LEFT JOIN observed AS o ON o.run_key = g.run_key AND o.case_id = c.case_id
LEFT JOIN uncollected AS u ON u.run_key = g.run_key AND u.path = c.path
WHERE NOT c.is_collect OR c.in_t;
