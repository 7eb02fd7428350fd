-- Does each would-be success hold when the lint looks at it?
--
-- Columns as in `guard_outcome`, with the guard `lint`: `failed` where a finding costs `reject`, else `passed`.
-- needs: verdict, submission_lint
CREATE OR REPLACE VIEW lint_outcome AS
SELECT
    v.snapshot, v.candidate_id, v.policy, v.grader, 'lint' AS guard,
    CASE WHEN l.cost = 'reject' THEN 'failed' ELSE 'passed' END AS result,
    CASE WHEN l.cost = 'reject' THEN array_to_string(l.rules, ', ') || ' at ' || l.why ELSE '' END AS why
FROM verdict AS v
LEFT JOIN submission_lint AS l ON l.candidate_id = v.candidate_id AND l.policy = v.policy
WHERE v.solved;
