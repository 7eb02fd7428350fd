-- Which suites of a snapshot are to be run again because of what graders say of them?
--
-- A suite that any grader calls solved is guarded. Where it does not pass its guards, or some were not made, the plain run
-- once more, with no line watched, tells whose doing that is: such a success is confirmed, and
-- one in twenty of the other suites as well. What fails a guard is repeated in its own words under the guards' conditions.
-- to_guard    some grader calls it solved
-- to_confirm  to be run once more, with no line watched
-- to_repeat   some placebo or paraphrase shows otherwise: is it the words?
-- needs: verdict, submission, guard_outcome
CREATE OR REPLACE VIEW suite_to_repeat AS
WITH said AS (
    SELECT
        snapshot, candidate_id, policy, grader,
        bool_or(result = 'passed') AND NOT bool_or(result IN ('failed', 'not_measured')) AS holds,
        bool_or(guard <> 'repeat' AND result = 'failed') AS fails
    FROM guard_outcome
    WHERE guard <> 'lint'
    GROUP BY ALL
)
SELECT
    verdict.snapshot,
    submission.suite_id,
    bool_or(coalesce(verdict.solved, false)) AS to_guard,
    bool_or(CASE
        WHEN NOT coalesce(verdict.solved, false) THEN hash(submission.suite_id) % 20 = 0
        ELSE NOT coalesce(said.holds, false)
    END) AS to_confirm,
    bool_or(coalesce(said.fails, false)) AS to_repeat
FROM verdict
JOIN submission USING (candidate_id, policy)
LEFT JOIN said
    ON said.snapshot = verdict.snapshot AND said.candidate_id = verdict.candidate_id
    AND said.policy = verdict.policy AND said.grader = verdict.grader
WHERE submission.suite_id IS NOT NULL
GROUP BY verdict.snapshot, submission.suite_id;
