-- Does each candidate accept the fixes that were proposed for its instance?
--
-- One row per (candidate_id, policy, fix_id) where the candidate's suite ran on the fix. The view uses neither the
-- golden patch nor the fix's status, because a real filter has no access to them.
-- tests   cases of T that ran before or on the fix
-- turned  those of them that fail before and pass on the fix
-- kept    the candidate has a test, and every test goes from failing to passing or stays passing with the fix
--         (SWT-Bench paper, section 5). As the grader `paper` counts, a skipped or expected-to-fail case throws no
--         error
-- robust  kept, and no robustness check of the candidate failed; null if kept and a check was not measured
-- why     the first case that fails or is missing, else the first that does not pass
-- kept: beside the runs
-- needs: submission, candidate_origin, decoy, repair, fix_suite_run, submission_run, submission_case, case_pair, case_outcome, fails, guard_summary
CREATE OR REPLACE VIEW fix_filter AS
WITH tried AS (
    SELECT s.instance_key, s.candidate_id, s.policy, r.fix_id, r.run_key
    FROM submission AS s
    JOIN fix_suite_run AS r ON r.suite_id = s.suite_id AND r.instance_key = s.instance_key
    WHERE s.well_formed
        AND (r.fix_id NOT IN (SELECT fix_id FROM decoy) OR r.fix_id IN (SELECT fix_id FROM repair))
),
seen AS (
    SELECT
        t.instance_key, t.candidate_id, t.policy, t.fix_id, c.case_id,
        c.candidate_before AS before,
        coalesce(o.outcome, 'missing') AS fixed
    FROM tried AS t
    JOIN submission_case AS c ON c.candidate_id = t.candidate_id AND c.policy = t.policy AND c.in_t
    JOIN submission_run AS r ON r.candidate_id = t.candidate_id AND r.policy = t.policy
    LEFT JOIN case_pair AS p
        ON p.run_key = CASE WHEN c.before_id IS NULL THEN r.candidate_after ELSE r.candidate_before END
        AND p.case_id = coalesce(c.before_id, c.after_id) AND p.other_run = t.run_key
    LEFT JOIN case_outcome AS o
        ON o.run_key = t.run_key AND o.case_id = coalesce(p.other_case, c.before_id, c.after_id, c.case_id)
    -- An uncollectable module has its own row. The row disappears once the module can be collected.
    WHERE (o.outcome IS NOT NULL OR (c.candidate_before <> 'missing' AND NOT c.is_collect))
        AND p.pair IS DISTINCT FROM 'ambiguous'
),
judged AS (
    SELECT
        t.instance_key, t.candidate_id, t.policy, t.fix_id,
        count(s.case_id) AS tests,
        count(s.case_id) FILTER (fails(s.before) AND s.fixed = 'passed') AS turned,
        coalesce(bool_or(s.fixed = 'passed') AND NOT bool_or(fails(s.fixed) OR s.fixed = 'missing'), false) AS kept,
        CASE WHEN NOT kept THEN coalesce(
            min(s.case_id || ': ' || s.fixed) FILTER (fails(s.fixed) OR s.fixed = 'missing'),
            min(s.case_id || ': ' || s.fixed) FILTER (s.fixed <> 'passed')
        ) END AS why
    FROM tried AS t
    LEFT JOIN seen AS s ON s.candidate_id = t.candidate_id AND s.policy = t.policy AND s.fix_id = t.fix_id
    GROUP BY t.instance_key, t.candidate_id, t.policy, t.fix_id
)
SELECT
    j.instance_key, g.instance_id, g.method, g.model, g.sample, j.candidate_id, j.policy, j.fix_id,
    j.tests, j.turned, j.kept,
    CASE
        WHEN NOT j.kept THEN false
        WHEN len(h.failed_guards) > 0 THEN false
        WHEN h.unmeasured OR h.candidate_id IS NULL THEN NULL
        ELSE true
    END AS robust,
    CASE WHEN j.tests = 0 THEN 'no test of its own ran' ELSE coalesce(j.why, '') END AS why
FROM judged AS j
LEFT JOIN candidate_origin AS g ON g.candidate_id = j.candidate_id
LEFT JOIN guard_summary AS h
    ON h.candidate_id = j.candidate_id AND h.policy = j.policy AND h.grader = 'paper';
