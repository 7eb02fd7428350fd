-- Why does the grader `paper` not call the golden tests of an instance solved?
--
-- One row per instance of a snapshot.
-- reason        empty where they are solved, `not-measured` where they have no verdict
-- detail        as in `golden_miss`
-- skipped_only  every case that does not pass is skipped
-- failing       cases that fail or are missing, as in `golden_miss`
-- needs: task_instance, paper, golden_miss
CREATE OR REPLACE VIEW golden_obstacle AS
SELECT
    t.snapshot, t.instance_id, coalesce(p.reason, 'not-measured') AS reason,
    coalesce(any_value(m.detail), '') AS detail, coalesce(bool_and(m.skipped_only), false) AS skipped_only,
    coalesce(any_value(m.failing), []) AS failing
FROM task_instance AS t
LEFT JOIN paper AS p
    ON p.instance_key = t.instance_key AND p.snapshot = t.snapshot
    AND p.method = 'golden' AND p.policy = 'tests-only'
LEFT JOIN golden_miss AS m ON m.instance_key = t.instance_key AND m.snapshot = t.snapshot AND m.reason = p.reason
GROUP BY t.snapshot, t.instance_id, p.reason;
