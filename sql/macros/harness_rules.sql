-- What outcomes and pairs of them mean to the public harness, for a grader that follows it.
--
-- harness_outcome(for_grader): columns of `outcome_class`. failed is a failure, passed is a pass, whatever else is in
--     the log is neither. Its log knows PASSED, FAILED, ERROR and SKIPPED only, so expected failures, unexpected passes
--     and cases that never finished leave no trace.
-- harness_transition(for_grader, leftover): columns of `transition`. A case that is neither before counts as failing,
--     one that passed before and is neither after as broken. leftover: what is left of those that the log has a line
--     for in one of the states; without a line a case is always `unmatched`, it counts as nothing.
-- Source: the harness's grading script, commit of 2026-07-23 (metrics: graders).
-- class          `pass`, `fail` or `none` (neither)
-- seen           whether the log has a line for such a case
-- before, after  outcome on each code state
-- transition     what the case counts as, as `transition` lists it
-- needs:
CREATE OR REPLACE MACRO harness_outcome(for_grader) AS TABLE
SELECT for_grader AS grader, outcome, class, seen
FROM (
    VALUES
        ('passed', 'pass', true),
        ('failed', 'fail', true),
        ('error', 'none', true),
        ('skipped', 'none', true),
        ('xfailed', 'none', false),
        ('xpassed', 'none', false),
        ('timeout', 'none', false),
        ('missing', 'none', false)
) AS fact (outcome, class, seen);

CREATE OR REPLACE MACRO harness_transition(for_grader, leftover) AS TABLE
WITH pair AS (
    SELECT b.outcome AS before, a.outcome AS after, b.class || '_to_' || a.class AS plain, b.seen OR a.seen AS seen
    FROM harness_outcome(for_grader) AS b CROSS JOIN harness_outcome(for_grader) AS a
)
SELECT
    for_grader AS grader, before, after,
    CASE
        WHEN plain = 'none_to_pass' THEN 'fail_to_pass'
        WHEN plain = 'none_to_fail' THEN 'fail_to_fail'
        WHEN plain = 'pass_to_none' THEN 'pass_to_fail'
        WHEN plain NOT IN ('fail_to_none', 'none_to_none') THEN plain
        WHEN seen THEN leftover
        ELSE 'unmatched'
    END AS transition
FROM pair;
