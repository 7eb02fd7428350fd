-- On which instances do golden tests show the fix although no changed line was traced?
--
-- No method has change coverage on such an instance. `table3` excludes it from means and counts it in `excluded` and
-- `unmeasured`.
-- One row per snapshot, instance and policy whose golden tests the grader `paper` calls solved.
-- why            `no-python-line` the golden patch changes no Python line · `no-line-ran` it changes lines, and none
--                ran where probes can trace it · `not-measured` no traced run, or a changed file ran without probes
-- changed_lines  lines of Python files that the golden patch removes or adds
-- detail         `detail` of the run on the fixed code
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
