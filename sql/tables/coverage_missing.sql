-- On which instances do golden tests show the fix although no changed line was seen to run?
--
-- Such an instance has no change coverage for any method: it is left out of means, and counted there (`excluded` and
-- `unmeasured` in `table3`). One row per snapshot, instance and policy whose golden tests are solved by `paper`.
-- why            `no-python-line` the golden patch changes none · `no-line-ran` changed lines are there and none of them
--                was executed where probes can see it · `not-measured` no traced run, or a changed file was executed
--                without probes
-- changed_lines  lines of Python files that the golden patch removes or adds
-- detail         what the run on the fixed code says of itself
-- needs: verdict, change_coverage, changed_line, submission_run, run
CREATE OR REPLACE VIEW coverage_missing AS
WITH changed AS (
    SELECT instance_key, count(*) AS lines FROM changed_line GROUP BY instance_key
)
SELECT
    v.snapshot, v.instance_id, v.instance_key, v.policy,
    CASE
        WHEN c.lines IS NULL THEN 'no-python-line'
        WHEN x.measured THEN 'no-line-ran'
        ELSE 'not-measured'
    END AS why,
    coalesce(c.lines, 0) AS changed_lines,
    coalesce(o.detail, '') AS detail
FROM verdict AS v
JOIN change_coverage AS x
    ON x.candidate_id = v.candidate_id AND x.policy = v.policy AND x.definition = 'paper'
LEFT JOIN changed AS c ON c.instance_key = v.instance_key
LEFT JOIN submission_run AS r ON r.candidate_id = v.candidate_id AND r.policy = v.policy
LEFT JOIN run AS o ON o.run_key = r.candidate_after
WHERE v.grader = 'paper' AND v.method = 'golden' AND v.solved AND x.delta_c IS NULL
ORDER BY v.snapshot, v.instance_id, v.policy;
