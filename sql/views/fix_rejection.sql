-- Does each candidate reject the wrong fixes that repairs proposed for its instance?
--
-- One row per (candidate_id, policy, fix_id) where the candidate's suite ran on an unresolved fix, with instance,
-- method, model and sample.
-- Decoys that no repair proposed are in `decoy_rejection`. A candidate without a case of T that passes with the golden
-- patch has no row.
-- rejected  a case of T that passes with the golden patch fails or is missing with the fix, as the grader `paper`
--           counts
-- why       the first such case and its outcome; empty if the candidate accepts the fix
-- kept: beside the runs
-- needs: submission, candidate_origin, decoy, repair, fix_status, fix_suite_run, submission_run, submission_case, case_pair,
-- needs: case_outcome, fails
CREATE OR REPLACE VIEW fix_rejection AS
WITH tried AS (
    SELECT s.instance_key, s.candidate_id, s.policy, f.fix_id, r.run_key
    FROM submission AS s
    JOIN fix_suite_run AS r ON r.suite_id = s.suite_id AND r.instance_key = s.instance_key
    JOIN fix_status AS f ON f.fix_id = r.fix_id AND f.status = 'unresolved'
    WHERE s.well_formed
        AND (f.fix_id NOT IN (SELECT fix_id FROM decoy) OR f.fix_id IN (SELECT fix_id FROM repair))
)
SELECT
    t.instance_key, g.instance_id, g.method, g.model, g.sample, t.candidate_id, t.policy, t.fix_id,
    bool_or(o.outcome IS NULL OR fails(o.outcome)) AS rejected,
    coalesce(
        min(c.case_id || ': ' || coalesce(o.outcome, 'missing'))
            FILTER (o.outcome IS NULL OR fails(o.outcome)),
        ''
    ) AS why
FROM tried AS t
LEFT JOIN candidate_origin AS g ON g.candidate_id = t.candidate_id
JOIN submission_case AS c
    ON c.candidate_id = t.candidate_id AND c.policy = t.policy AND c.in_t AND c.candidate_after = 'passed'
JOIN submission_run AS r ON r.candidate_id = t.candidate_id AND r.policy = t.policy
LEFT JOIN case_pair AS p ON p.run_key = r.candidate_after AND p.case_id = c.after_id AND p.other_run = t.run_key
LEFT JOIN case_outcome AS o ON o.run_key = t.run_key AND o.case_id = coalesce(p.other_case, c.after_id)
WHERE p.pair IS DISTINCT FROM 'ambiguous'
GROUP BY ALL;
