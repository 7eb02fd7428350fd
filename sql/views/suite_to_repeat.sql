-- Which suites of a snapshot run again because of their verdicts?
--
-- A suite that any grader calls solved gets its robustness checks.
-- If it fails a check or a check is unmeasured, the plain run repeats without tracing. One in twenty of the other
-- suites repeats as well. This shows whether tracing changes an outcome.
-- to_guard    some grader calls it solved
-- to_confirm  it repeats without tracing
-- needs: verdict, submission, guard_outcome
CREATE OR REPLACE VIEW suite_to_repeat AS
WITH said AS (
    SELECT
        snapshot, candidate_id, policy, grader,
        bool_or(result = 'passed') AND NOT bool_or(result IN ('failed', 'not_measured')) AS holds
    FROM guard_outcome
    GROUP BY ALL
)
SELECT
    verdict.snapshot,
    submission.suite_id,
    bool_or(coalesce(verdict.solved, false)) AS to_guard,
    bool_or(CASE
        WHEN NOT coalesce(verdict.solved, false) THEN hash(submission.suite_id) % 20 = 0
        ELSE NOT coalesce(said.holds, false)
    END) AS to_confirm
FROM verdict
JOIN submission USING (candidate_id, policy)
LEFT JOIN said
    ON said.snapshot = verdict.snapshot AND said.candidate_id = verdict.candidate_id
    AND said.policy = verdict.policy AND said.grader = verdict.grader
WHERE submission.suite_id IS NOT NULL
GROUP BY verdict.snapshot, submission.suite_id;
