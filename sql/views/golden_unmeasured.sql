-- On which instances can the golden tests not be measured, and why?
--
-- One row per instance of a snapshot. No candidate of such an instance is measured: the failure is internal, not the
-- candidate's.
-- An instance whose golden tests did not run yet, or whose environment is missing, has no row.
-- snapshot, instance_id, instance_key  the instance
-- reason                    `golden-refused` the golden tests are no submission that can run · `golden-empty` they have
--                           no file for a test runner · `golden-unapplied` the golden patch or the golden tests do not
--                           apply or build · `golden-silent` their files report no case on the fixed code
-- detail                    the cause in words
-- kept: beside the runs
-- needs: task_instance, candidate, submission, golden_suite, current_run, settled_run, run
CREATE OR REPLACE VIEW golden_unmeasured AS
WITH trouble AS (
    SELECT c.instance_key, 1 AS step, 'golden-refused' AS reason, s.reason || ': ' || s.detail AS detail
    FROM candidate AS c JOIN submission AS s ON s.candidate_id = c.candidate_id
    WHERE c.method = 'golden' AND NOT s.well_formed
    UNION ALL
    SELECT instance_key, 2, 'golden-empty', 'the golden tests hold no file that a runner can collect'
    FROM golden_suite
    WHERE is_empty
    UNION ALL
    SELECT instance_key, 3, 'golden-unapplied', detail
    FROM current_run
    WHERE status = 'golden-unapplied'
    UNION ALL
    SELECT
        g.instance_key, 4, 'golden-silent',
        'the golden test files gave no case on the fixed code' || coalesce(': ' || nullif(r.detail, ''), '')
    FROM golden_suite AS g
    JOIN settled_run AS w ON w.instance_key = g.instance_key AND w.suite_ref = g.suite_id AND w.code_state = 'after'
    JOIN run AS r ON r.run_key = w.run_key
    WHERE r.status = 'completed' AND r.cases = 0
)
SELECT
    t.snapshot, t.instance_id, t.instance_key,
    min_by(x.reason, x.step) AS reason,
    min_by(x.detail, (x.step, x.detail)) AS detail
FROM task_instance AS t JOIN trouble AS x ON x.instance_key = t.instance_key
GROUP BY t.snapshot, t.instance_id, t.instance_key;
