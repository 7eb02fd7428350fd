-- What is the status of each submission before grading?
--
-- One row per candidate row and policy, with snapshot, instance, method, model and sample.
-- counted   no duplicate, and no later candidate replaced it
-- applied   the patch applies
-- measured  the runs that a verdict needs exist. A patch that does not apply needs none. Always false if the golden
--           tests of the instance cannot be measured
-- reason    why the golden tests cannot be measured, else why the patch does not apply, else why unmeasured:
--           `infrastructure`, `superseded` by runs of a newer runner, or `not-run`. Empty otherwise
-- needs: candidate, placed_candidate, submission, submission_run, requested_run, current_run, golden_unmeasured
CREATE OR REPLACE VIEW submission_status AS
WITH broken AS (
    SELECT DISTINCT instance_key, suite_id FROM requested_run
    WHERE status = 'infrastructure' AND suite_id IS NOT NULL AND coalesce(variant, 'plain') = 'plain'
),
superseded AS (
    SELECT DISTINCT instance_key, suite_id
    FROM requested_run ANTI JOIN current_run USING (run_key, instance_key)
    WHERE status <> 'infrastructure' AND suite_id IS NOT NULL
)
SELECT
    c.snapshot, c.candidate_id, s.policy, c.instance_key, c.instance_id, c.method, c.model, c.sample,
    k.candidate_id IS NOT NULL AS counted,
    s.well_formed AS applied,
    g.reason IS NULL AND (NOT s.well_formed OR coalesce(r.measured, false)) AS measured,
    CASE
        WHEN g.reason IS NOT NULL THEN g.reason
        WHEN NOT s.well_formed THEN coalesce(nullif(s.reason, ''), 'not-well-formed')
        WHEN coalesce(r.measured, false) THEN ''
        WHEN b.suite_id IS NOT NULL THEN 'infrastructure'
        WHEN o.suite_id IS NOT NULL THEN 'superseded'
        ELSE 'not-run'
    END AS reason
FROM candidate AS c
JOIN submission AS s ON s.candidate_id = c.candidate_id
LEFT JOIN placed_candidate AS k ON k.snapshot = c.snapshot AND k.candidate_id = c.candidate_id
LEFT JOIN submission_run AS r ON r.candidate_id = s.candidate_id AND r.policy = s.policy
LEFT JOIN broken AS b ON b.instance_key = s.instance_key AND b.suite_id = s.suite_id
LEFT JOIN golden_unmeasured AS g ON g.snapshot = c.snapshot AND g.instance_key = s.instance_key
LEFT JOIN superseded AS o ON o.instance_key = s.instance_key AND o.suite_id = s.suite_id;
