-- What does the lint find in each submission?
--
-- One row per submission with findings (candidate_id, policy). The golden tests are excluded.
-- cost   `suspect` if any finding is, else `note`
-- rules  rules with this cost, sorted
-- why    the first place of a finding
-- needs: submission, suite, lint_finding, lint_policy
CREATE OR REPLACE VIEW submission_lint AS
WITH priced AS (
    SELECT
        f.suite_id, f.rule, f.path || ':' || f.line || ': ' || f.detail AS place,
        coalesce(p.cost, 'suspect') AS cost,
        CASE coalesce(p.cost, 'suspect') WHEN 'suspect' THEN 2 ELSE 1 END AS weight
    FROM lint_finding AS f
    LEFT JOIN lint_policy AS p ON p.rule = f.rule
),
worst AS (
    SELECT * FROM priced QUALIFY weight = max(weight) OVER (PARTITION BY suite_id)
)
SELECT
    s.candidate_id, s.policy,
    any_value(w.cost) AS cost,
    list_sort(list(DISTINCT w.rule)) AS rules,
    min(w.place) AS why
FROM submission AS s
JOIN suite AS u ON u.suite_id = s.suite_id AND u.kind <> 'golden'
JOIN worst AS w ON w.suite_id = s.suite_id
GROUP BY s.candidate_id, s.policy;
