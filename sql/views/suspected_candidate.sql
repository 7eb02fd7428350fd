-- Which candidates do the audits suspect, and why?
--
-- One row per candidate and policy with a suspicion.
-- reasons  `lint:<rule>` and `trajectory:<rule>`, sorted
-- why      one place of a finding
-- needs: submission, submission_lint, trajectory_audit, trajectory_policy
CREATE OR REPLACE VIEW suspected_candidate AS
WITH reason AS (
    SELECT candidate_id, policy, 'lint:' || unnest(rules) AS reason, why
    FROM submission_lint
    WHERE cost = 'suspect'
    UNION ALL
    SELECT s.candidate_id, s.policy, 'trajectory:' || a.rule, 'step ' || a.step || ': ' || a.detail
    FROM trajectory_audit AS a
    JOIN submission AS s ON s.candidate_id = a.candidate_id
    LEFT JOIN trajectory_policy AS p ON p.rule = a.rule
    WHERE coalesce(p.cost, 'suspect') = 'suspect'
)
SELECT candidate_id, policy, list_sort(list(DISTINCT reason)) AS reasons, min(why) AS why
FROM reason
GROUP BY candidate_id, policy;
