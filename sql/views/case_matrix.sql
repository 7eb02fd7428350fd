-- What do the cases of each candidate do before and after the fix, with it and without?
--
-- Rows of `submission_case` that matter to a reader: cases of T, and cases that do otherwise with the candidate than
-- without; with instance, method, model and sample, and message_before, message_after: what the case said in the
-- candidate's runs. A case that a candidate leaves as it is has no row. pair: as in `submission_case`.
-- message_before  what the case said in the candidate's run on `before`
-- message_after   the same on `after`
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
