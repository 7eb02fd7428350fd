-- Which golden tests does the default grader not call solved, and why?
--
-- One row per snapshot, instance_id and instance_key.
-- reason        the grader's reason, or `no-environment` if the latest environment attempt failed
-- detail        the error of the environment, else why the golden tests were not measured. Else how many golden cases
--               fail or are missing on the fixed code, with the first one. Else how many do not pass, else `detail` of
--               the run
-- skipped_only  whether all cases that do not pass are skipped, which means that the environment lacks something they
--               need
-- failing       cases that fail or are missing
-- run           first 8 characters of the key of the run on the fixed code, for `swt log`
-- measured      whether the golden tests ran at all; if not, the failure is internal
-- needs: paper, withdrawn_instance, submission_run, case_matrix, run, environment_attempt, fails, golden_unmeasured
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
own AS (
    SELECT
        candidate_id, policy, case_id, candidate_after,
        fails(candidate_after) OR (candidate_after = 'missing' AND candidate_before <> 'missing') AS refuses
    FROM case_matrix
    WHERE in_t
),
broken AS (
    SELECT
        candidate_id, policy, count(*) AS cases,
        coalesce(list(case_id ORDER BY case_id) FILTER (refuses), []) AS failing,
        count(*) FILTER (candidate_after = 'skipped') AS skipped,
        count(*) FILTER (candidate_after <> 'passed') AS not_passing,
        min(candidate_after || ' ' || case_id) FILTER (refuses) AS first_failing,
        min(candidate_after || ' ' || case_id) FILTER (candidate_after <> 'passed') AS first_not_passing
    FROM own
    GROUP BY candidate_id, policy
)
SELECT
    m.snapshot, m.instance_id, m.instance_key,
    CASE WHEN m.reason = 'not-run' AND a.cause <> '' THEN 'no-environment' ELSE m.reason END AS reason,
    CASE
        WHEN m.reason = 'not-run' AND a.cause <> '' THEN a.error
        WHEN u.detail IS NOT NULL THEN u.detail
        WHEN len(b.failing) > 0 THEN format('{} of {} cases: {}', len(b.failing), b.cases, b.first_failing)
        WHEN b.not_passing > 0 THEN format('{} of {} cases: {}', b.not_passing, b.cases, b.first_not_passing)
        ELSE coalesce(o.detail, '')
    END AS detail,
    coalesce(b.skipped > 0 AND b.skipped = b.not_passing, false) AS skipped_only,
    coalesce(b.failing, []) AS failing,
    coalesce(left(m.candidate_after, 8), '') AS run,
    m.measured
FROM missed AS m
LEFT JOIN attempt AS a USING (instance_key)
LEFT JOIN broken AS b USING (candidate_id, policy)
LEFT JOIN golden_unmeasured AS u ON u.snapshot = m.snapshot AND u.instance_key = m.instance_key
LEFT JOIN run AS o ON o.run_key = m.candidate_after
ORDER BY m.snapshot, m.instance_id;
