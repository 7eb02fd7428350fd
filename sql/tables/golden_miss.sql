-- Which golden tests does the default grader not call solved, and why?
--
-- One row per snapshot, instance_id and instance_key. reason: the grader's, or the cause for which no environment is ready. detail: what
-- stood in the way of the environment, else how many cases of the golden tests do not pass on the fixed code, with the
-- first of them, else what the run says of itself. skipped_only: whether all those are skipped, which says that the
-- environment lacks what they need. run: the beginning of the key of the run on the fixed code, for `swt log`.
-- measured: whether the golden tests ran at all; what is not measured is a failure of ours.
-- needs: paper, withdrawn_instance, submission_run, case_matrix, run, environment_attempt, golden_unmeasured
CREATE OR REPLACE VIEW golden_miss AS
WITH attempt AS (
    SELECT instance_key, env_id, cause, split_part(error, chr(10), 1) AS error
    FROM environment_attempt
    QUALIFY row_number() OVER (PARTITION BY instance_key ORDER BY tried_at DESC) = 1
),
missed AS (
    SELECT
        p.snapshot, p.instance_id, p.instance_key, p.candidate_id, p.policy, p.measured, p.reason, r.candidate_after
    FROM (FROM paper ANTI JOIN withdrawn_instance USING (snapshot, instance_id)) AS p
    LEFT JOIN submission_run AS r USING (candidate_id, policy)
    WHERE p.method = 'golden' AND p.counted AND NOT coalesce(p.solved, false)
),
broken AS (
    SELECT
        candidate_id, policy, count(*) AS cases,
        count(*) FILTER (candidate_after <> 'passed') AS failing,
        count(*) FILTER (candidate_after = 'skipped') AS skipped,
        min(candidate_after || ' ' || case_id) FILTER (candidate_after <> 'passed') AS first_failing
    FROM case_matrix WHERE in_t
    GROUP BY candidate_id, policy
)
SELECT
    m.snapshot, m.instance_id, m.instance_key,
    CASE WHEN m.reason = 'not-run' AND a.cause <> '' THEN 'no-environment' ELSE m.reason END AS reason,
    CASE
        WHEN m.reason = 'not-run' AND a.cause <> '' THEN a.error
        WHEN u.detail IS NOT NULL THEN u.detail
        WHEN b.failing > 0 THEN format('{} of {} cases: {}', b.failing, b.cases, b.first_failing)
        ELSE coalesce(o.detail, '')
    END AS detail,
    coalesce(b.skipped > 0 AND b.skipped = b.failing, false) AS skipped_only,
    coalesce(left(m.candidate_after, 8), '') AS run,
    m.measured
FROM missed AS m
LEFT JOIN attempt AS a USING (instance_key)
LEFT JOIN broken AS b USING (candidate_id, policy)
LEFT JOIN golden_unmeasured AS u ON u.snapshot = m.snapshot AND u.instance_key = m.instance_key
LEFT JOIN run AS o ON o.run_key = m.candidate_after
ORDER BY m.snapshot, m.instance_id;
