-- How does the public harness classify outcomes and pairs of outcomes?
--
-- `harness_outcome(for_grader)` has the columns of `outcome_class`. The outcome failed is a failure, passed is a pass,
-- and every other outcome in the log is neither.
-- The harness's log contains only PASSED, FAILED, ERROR and SKIPPED. So expected failures, unexpected passes and
-- unfinished cases have no line.
-- `harness_transition(for_grader, leftover)` has the columns of `transition`. A case that is neither before counts as
-- failing. A case that passed before and is neither after counts as broken.
-- The parameter `leftover` is the class of the other pairs if the log has a line for the case in one state. Without any
-- line the case is `unmatched` and does not count.
-- Source: the harness's grading script, commit of 2026-07-23 (metrics: graders).
-- class          `pass`, `fail` or `none` (neither)
-- seen           whether the log has a line for such a case
-- before, after  outcome on each code state
-- transition     class of the case, as `transition` lists it
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
