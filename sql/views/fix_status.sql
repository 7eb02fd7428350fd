-- Is each proposed fix right according to the golden tests?
--
-- One row per fix. The cases are those in the source's lists. Without lists, they are the golden tests' own: cases that
-- go from not passing to passing, and cases of the same files that pass before.
-- A fix is tested only on cases that pass here with the golden patch.
-- status                  `resolved`: every case of FAIL_TO_PASS and PASS_TO_PASS passes on it; `unresolved`: a case
--                         does not; `unmeasured`: not enough runs, which never counts against the fix; `unusable`: it
--                         is empty, does not apply, or changes only tests
-- f2p, p2p                cases of each kind that the fix is tested on; null without a run
-- f2p_passed, p2p_passed  those of them that pass on it
-- run_key                 the run of the golden tests on it
-- why                     the first case that does not pass on it, or what is missing; empty where it is resolved
-- kept: beside the runs
-- needs: proposed_fix, task_instance, fix_run, current_run, fix_suite_run, golden_suite, golden_case, case_pair, case_outcome
CREATE OR REPLACE VIEW fix_status AS
WITH listed AS (
    SELECT
        instance_key,
        any_value(FAIL_TO_PASS) AS fail_to_pass,
        any_value(FAIL_TO_PASS || coalesce(PASS_TO_PASS, [])) AS every
    FROM task_instance
    WHERE len(FAIL_TO_PASS) > 0
    GROUP BY instance_key
),
held AS (
    SELECT
        c.instance_key, c.case_id, c.after_run, c.after_id,
        CASE
            WHEN l.instance_key IS NULL THEN c.before <> 'passed'
            ELSE list_has_any(c.names, l.fail_to_pass)
        END AS turns
    FROM golden_case AS c
    LEFT JOIN listed AS l ON l.instance_key = c.instance_key
    WHERE c.after = 'passed' AND (l.instance_key IS NULL OR list_has_any(c.names, l.every))
),
ran AS (
    SELECT f.fix_id, f.instance_key, r.run_key
    FROM proposed_fix AS f
    JOIN golden_suite AS g ON g.instance_key = f.instance_key
    JOIN fix_suite_run AS r ON r.fix_id = f.fix_id AND r.suite_id = g.suite_id
),
refused AS (
    SELECT p.fix_id, min(r.detail) AS detail
    FROM fix_run AS p
    JOIN golden_suite AS g ON g.instance_key = p.instance_key AND g.suite_id = p.suite_id
    JOIN current_run AS r
        ON r.run_key = p.run_key AND r.instance_key = p.instance_key AND r.status = 'unapplied'
    GROUP BY p.fix_id
),
counted AS (
    SELECT
        n.fix_id, n.run_key,
        count(h.case_id) FILTER (h.turns) AS f2p,
        count(h.case_id) FILTER (h.turns AND o.outcome = 'passed') AS f2p_passed,
        count(h.case_id) FILTER (NOT h.turns) AS p2p,
        count(h.case_id) FILTER (NOT h.turns AND o.outcome = 'passed') AS p2p_passed,
        min(
            CASE WHEN h.turns THEN 'FAIL_TO_PASS ' ELSE 'PASS_TO_PASS ' END
            || h.case_id || ': ' || coalesce(o.outcome, 'missing')
        ) FILTER (
            h.case_id IS NOT NULL AND coalesce(o.outcome, 'missing') <> 'passed' AND p.pair IS DISTINCT FROM 'ambiguous'
        ) AS why,
        min(h.case_id) FILTER (p.pair = 'ambiguous') AS unpaired
    FROM ran AS n
    LEFT JOIN held AS h ON h.instance_key = n.instance_key
    LEFT JOIN case_pair AS p ON p.run_key = h.after_run AND p.case_id = h.after_id AND p.other_run = n.run_key
    LEFT JOIN case_outcome AS o ON o.run_key = n.run_key AND o.case_id = coalesce(p.other_case, h.after_id)
    GROUP BY n.fix_id, n.run_key
)
SELECT
    f.fix_id, f.instance_key, f.instance_id,
    CASE
        WHEN f.problem <> '' THEN 'unusable'
        WHEN coalesce(c.f2p, 0) = 0 THEN 'unmeasured'
        WHEN c.why IS NOT NULL THEN 'unresolved'
        WHEN c.unpaired IS NOT NULL THEN 'unmeasured'
        ELSE 'resolved'
    END AS status,
    CASE
        WHEN f.problem <> '' THEN f.problem
        WHEN c.fix_id IS NULL THEN coalesce(r.detail, 'the golden tests were not run on it')
        WHEN c.f2p = 0 THEN 'no case of FAIL_TO_PASS passes here with the golden patch'
        WHEN c.why IS NULL AND c.unpaired IS NOT NULL
            THEN c.unpaired || ': the id differs between processes, and its place does not tell which case it is'
        ELSE coalesce(c.why, '')
    END AS why,
    c.f2p, c.f2p_passed, c.p2p, c.p2p_passed, c.run_key
FROM proposed_fix AS f
LEFT JOIN counted AS c ON c.fix_id = f.fix_id
LEFT JOIN refused AS r ON r.fix_id = f.fix_id;
