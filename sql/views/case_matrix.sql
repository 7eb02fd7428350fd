-- What is the outcome of each case of a candidate before and after the fix, with and without the candidate?
--
-- Rows of `submission_case` for cases of T, and for cases whose outcome differs with the candidate. Other cases have no
-- row.
-- Instance, method, model and sample are added. Columns as in `submission_case`.
-- message_before  message of the case in the candidate's run on `before`
-- message_after   message of the case in the candidate's run on `after`
-- pair            as in `submission_case`
-- kept: beside the runs
-- needs: submission_case, submission_run, case_outcome, candidate_origin
CREATE OR REPLACE VIEW case_matrix AS
WITH said AS (
    SELECT run_key, case_id, min(message) AS message
    FROM case_outcome
    WHERE message <> ''
    GROUP BY run_key, case_id
)
SELECT
    o.instance_key, o.instance_id, o.method, o.model, o.sample, c.candidate_id, c.policy, c.case_id, c.path,
    c.in_t, c.t_reason, c.is_collect, c.pair, c.none_before, c.none_after, c.candidate_before, c.candidate_after,
    b.message AS message_before, a.message AS message_after
FROM submission_case AS c
JOIN candidate_origin AS o ON o.candidate_id = c.candidate_id
JOIN submission_run AS r ON r.candidate_id = c.candidate_id AND r.policy = c.policy
LEFT JOIN said AS b ON b.run_key = r.candidate_before AND b.case_id = c.before_id
LEFT JOIN said AS a ON a.run_key = r.candidate_after AND a.case_id = c.after_id
WHERE coalesce(c.in_t, true)
    OR (c.none_before, c.none_after) IS DISTINCT FROM (c.candidate_before, c.candidate_after);
