-- Which suites of a snapshot are to be run again because of what graders say of them?
--
-- A suite that any grader calls solved is guarded. A guard's repeat that behaves as the traced run shows that tracing
-- changed nothing; where it does not, or was not made, the plain run without tracing tells whose doing that is: such a
-- success is confirmed, and one in twenty of the other suites as well.
-- to_guard    some grader calls it solved
-- to_confirm  to be run without tracing
-- needs: verdict, submission, guard_outcome
CREATE OR REPLACE VIEW suite_to_repeat AS
SELECT
    verdict.snapshot,
    submission.suite_id,
    bool_or(coalesce(verdict.solved, false)) AS to_guard,
    bool_or(CASE
        WHEN NOT coalesce(verdict.solved, false) THEN hash(submission.suite_id) % 20 = 0
        ELSE NOT EXISTS (
            FROM guard_outcome AS g
            WHERE g.snapshot = verdict.snapshot AND g.candidate_id = verdict.candidate_id
                AND g.policy = verdict.policy AND g.grader = verdict.grader
                AND g.guard = 'repeat' AND g.result = 'passed')
    END) AS to_confirm
FROM verdict
JOIN submission USING (candidate_id, policy)
WHERE submission.suite_id IS NOT NULL
GROUP BY ALL;
