-- The verdict as the paper defines it (sections 3.1 and 3.3), on the cases of T. The default grader.
--
-- One row per candidate and policy, replaced candidates included (`counted` is false for them).
-- "We consider a test to fail if an error is thrown during its execution" (section 3.1). So failed, error, timeout and
-- an uncollectable module are failures.
-- Skipped, xfailed and xpassed cases throw no error. They count neither for nor against a suite. pytest reports a
-- strict xpass as failed.
-- A case that the suite has before and not after is missing.
-- measured        false where a run is missing; then every verdict is null
-- well_formed     W: the candidate's patch applies
-- solved          S: some case of T goes from failing to passing, and no case of T fails or is missing on the fixed
--                 code
-- fail_to_any     F→X: some case of T fails before
-- fail_to_pass    F→P: some case of T fails before and passes after
-- pass_to_pass    P→P: some case of T passes in both
-- reason          why not solved; empty where it is
-- counted         false for a candidate that a later one replaced
-- grader          name of the grader
-- only_t          robustness checks compare the cases of T alone
-- accepts_golden  the golden tests of every valid instance are solved by it
-- outcome         as recorded, or `missing`
-- class           `pass`, `fail`, `none` (neither) or `missing`
-- seen            whether the grader reads such a case at all
-- before, after   outcome on each code state
-- transition      class of the case, as `transition` lists it
-- kept: beside the runs
-- needs: submission_status, submission_case
CREATE OR REPLACE VIEW paper_grader AS
SELECT 'paper' AS grader, true AS only_t, true AS accepts_golden;

CREATE OR REPLACE VIEW paper_outcome AS
SELECT 'paper' AS grader, outcome, class, outcome <> 'missing' AS seen
FROM (
    VALUES
        ('passed', 'pass'), ('failed', 'fail'), ('error', 'fail'), ('timeout', 'fail'),
        ('skipped', 'none'), ('xfailed', 'none'), ('xpassed', 'none'), ('missing', 'missing')
) AS fact (outcome, class);

CREATE OR REPLACE VIEW paper_transition AS
SELECT 'paper' AS grader, b.outcome AS before, a.outcome AS after, b.class || '_to_' || a.class AS transition
FROM paper_outcome AS b CROSS JOIN paper_outcome AS a;

CREATE OR REPLACE VIEW paper AS
WITH t AS (
    SELECT
        c.candidate_id, c.policy,
        bool_or(t.transition = 'fail_to_pass') AS fail_to_pass,
        bool_or(t.transition LIKE 'fail_to_%') AS fail_to_any,
        bool_or(t.transition = 'pass_to_pass') AS pass_to_pass,
        bool_or(t.transition LIKE '%_to_fail') AS fails_after,
        bool_or(t.transition LIKE '%_to_missing' AND t.before <> 'missing') AS missing_after
    FROM submission_case AS c
    JOIN paper_transition AS t ON t.before = c.candidate_before AND t.after = c.candidate_after
    WHERE c.in_t
    GROUP BY c.candidate_id, c.policy
)
SELECT
    s.candidate_id, s.policy, s.instance_key, s.instance_id, s.snapshot, s.method, s.model, s.sample, s.counted,
    'paper' AS grader,
    s.measured,
    CASE WHEN s.measured THEN s.applied END AS well_formed,
    CASE WHEN s.measured THEN s.applied
        AND coalesce(t.fail_to_pass AND NOT t.fails_after AND NOT t.missing_after, false) END AS solved,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.fail_to_any, false) END AS fail_to_any,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.fail_to_pass, false) END AS fail_to_pass,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.pass_to_pass, false) END AS pass_to_pass,
    CASE
        WHEN s.reason <> '' THEN s.reason
        WHEN t.candidate_id IS NULL THEN 'no-cases'
        WHEN t.fails_after THEN 'fails-after'
        WHEN t.missing_after THEN 'missing-after'
        WHEN NOT t.fail_to_any THEN 'passes-before'
        WHEN NOT t.fail_to_pass THEN 'no-fail-to-pass'
        ELSE ''
    END AS reason
FROM submission_status AS s
LEFT JOIN t ON t.candidate_id = s.candidate_id AND t.policy = s.policy;
