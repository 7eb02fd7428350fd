-- Is each proposed decoy valid according to the golden tests?
--
-- One row per decoy, without its patch. Columns of `decoy`.
-- class    `decoy`: fixes nothing, since no case of FAIL_TO_PASS passes; `partial-fix`: some pass; `fix`: all pass;
--          `unclear`: made from a fix, and its golden tests fail differently than on the base commit, so it may fix a
--          part; `broken`: a module that the base commit collects cannot be collected, or the run did not complete;
--          `unmeasured`: golden tests did not run on it, or one of FAIL_TO_PASS fails with the golden patch
-- quiet    every other golden case that passes with the golden patch also passes on the decoy
-- same     each golden case that the fix turns fails with the same message as on the base commit, memory addresses
--          ignored
-- why      why it is not a decoy; empty for a decoy
-- run_key  the run of the golden tests on it
-- kept: beside the runs
-- needs: decoy, fix_status, fix_suite_run, golden_suite, golden_case, settled_run, case_outcome, task_instance, fails
CREATE OR REPLACE VIEW decoy_status AS
WITH base_run AS (
    SELECT g.instance_key, r.run_key
    FROM golden_suite AS g
    JOIN settled_run AS r
        ON r.instance_key = g.instance_key AND r.suite_ref = g.suite_id AND r.code_state = 'before'
),
base_failure AS (
    SELECT b.instance_key, o.case_id, regexp_replace(o.message, '0x[0-9a-f]+', '', 'g') AS message
    FROM golden_case AS c
    JOIN base_run AS b ON b.instance_key = c.instance_key
    JOIN case_outcome AS o ON o.run_key = b.run_key AND o.case_id = c.case_id
    WHERE fails(c.before) AND c.after = 'passed'
),
otherwise AS (
    SELECT s.fix_id, min(f.case_id) AS case_id
    FROM fix_status AS s
    JOIN base_failure AS f ON f.instance_key = s.instance_key
    LEFT JOIN case_outcome AS o ON o.run_key = s.run_key AND o.case_id = f.case_id
    WHERE regexp_replace(o.message, '0x[0-9a-f]+', '', 'g') IS DISTINCT FROM f.message
    GROUP BY s.fix_id
),
base_error AS (
    SELECT DISTINCT b.instance_key, o.path
    FROM base_run AS b
    JOIN case_outcome AS o ON o.run_key = b.run_key AND o.phase = 'collect' AND o.outcome = 'error'
),
unfit AS (
    SELECT c.instance_key, min(c.case_id) AS case_id
    FROM golden_case AS c
    LEFT JOIN (
        SELECT instance_key, any_value(FAIL_TO_PASS) AS named
        FROM task_instance WHERE len(FAIL_TO_PASS) > 0 GROUP BY instance_key
    ) AS t ON t.instance_key = c.instance_key
    WHERE fails(c.after) AND CASE WHEN t.named IS NULL THEN fails(c.before) ELSE list_has_any(c.names, t.named) END
    GROUP BY c.instance_key
),
new_error AS (
    SELECT s.fix_id, min(o.path) AS path
    FROM fix_status AS s
    JOIN decoy AS d ON d.fix_id = s.fix_id
    JOIN case_outcome AS o ON o.run_key = s.run_key AND o.phase = 'collect' AND o.outcome = 'error'
    ANTI JOIN base_error AS b ON b.instance_key = s.instance_key AND b.path = o.path
    GROUP BY s.fix_id
)
SELECT
    d.instance_key, d.instance_id, d.fix_id, d.number, d.kind, d.near, d.detail, d.seed, d.created_at,
    CASE
        WHEN s.status IS NULL OR s.status IN ('unmeasured', 'unusable') OR u.case_id IS NOT NULL THEN 'unmeasured'
        WHEN s.f2p_passed = s.f2p THEN 'fix'
        WHEN s.f2p_passed > 0 THEN 'partial-fix'
        WHEN e.fix_id IS NOT NULL OR r.status <> 'completed' THEN 'broken'
        WHEN w.fix_id IS NOT NULL AND d.kind IN ('broken-fix', 'partial', 'wrong-repair') THEN 'unclear'
        ELSE 'decoy'
    END AS class,
    CASE WHEN class <> 'unmeasured' THEN w.fix_id IS NULL END AS same,
    CASE WHEN class <> 'unmeasured' THEN s.p2p_passed = s.p2p END AS quiet,
    CASE class
        WHEN 'decoy' THEN ''
        WHEN 'unclear' THEN w.case_id || ' fails otherwise than on the base commit'
        WHEN 'broken' THEN coalesce(e.path || ' cannot be collected', 'the golden tests end with ' || r.status)
        WHEN 'unmeasured' THEN coalesce(u.case_id || ' fails with the golden patch', s.why, 'there is no such fix')
        ELSE s.f2p_passed || ' of ' || s.f2p || ' cases of FAIL_TO_PASS pass'
    END AS why,
    s.run_key
FROM decoy AS d
LEFT JOIN fix_status AS s ON s.fix_id = d.fix_id
LEFT JOIN fix_suite_run AS r ON r.fix_id = d.fix_id AND r.run_key = s.run_key
LEFT JOIN unfit AS u ON u.instance_key = d.instance_key
LEFT JOIN otherwise AS w ON w.fix_id = d.fix_id
LEFT JOIN new_error AS e ON e.fix_id = d.fix_id;
