-- Which traced runs give a submission's change coverage, all from one environment and sandbox?
--
-- One row per submission. The columns below with `before` and `after` are run keys by side and state
-- (`submission_cell`), null without a run.
-- env_id, sandbox           those with the most runs, then the latest
-- measured_paper            golden, reference, none and candidate runs exist, as far as there are files to run
-- measured_swt_bench        the same without the reference runs
-- well_formed               the patch applies
-- has_base                  suite `none` has files to run
-- has_reference             the golden files exist at the base commit
-- none_before, none_after   key of the traced run of suite `none`
-- candidate_before, candidate_after  key of the traced run of the candidate's suite
-- golden_before, golden_after  key of the traced run of the golden suite
-- reference_before, reference_after  key of the traced run of the repository's tests in the golden files
-- needs: submission, suite, golden_suite, submission_cell
CREATE OR REPLACE VIEW submission_trace AS
WITH cells AS (
    SELECT
        candidate_id, policy, env_id, sandbox,
        max(traced_run_key) FILTER (side = 'none' AND code_state = 'before') AS none_before,
        max(traced_run_key) FILTER (side = 'none' AND code_state = 'after') AS none_after,
        max(traced_run_key) FILTER (side = 'candidate' AND code_state = 'before') AS candidate_before,
        max(traced_run_key) FILTER (side = 'candidate' AND code_state = 'after') AS candidate_after,
        max(traced_run_key) FILTER (side = 'golden' AND code_state = 'before') AS golden_before,
        max(traced_run_key) FILTER (side = 'golden' AND code_state = 'after') AS golden_after,
        max(traced_run_key) FILTER (side = 'reference' AND code_state = 'before') AS reference_before,
        max(traced_run_key) FILTER (side = 'reference' AND code_state = 'after') AS reference_after,
        count(traced_run_key) AS runs,
        max(finished_at) AS finished_at
    FROM submission_cell
    GROUP BY candidate_id, policy, env_id, sandbox
),
chosen AS (
    SELECT *
    FROM cells
    QUALIFY row_number() OVER (
        PARTITION BY candidate_id, policy ORDER BY runs DESC, finished_at DESC, env_id, sandbox
    ) = 1
),
needed AS (
    SELECT
        s.candidate_id, s.policy, s.instance_key, s.well_formed,
        s.well_formed AND len(u.base_files) > 0 AS has_base,
        coalesce(g.has_base, false) AS has_reference
    FROM submission AS s
    LEFT JOIN suite AS u ON u.suite_id = s.suite_id
    LEFT JOIN golden_suite AS g ON g.instance_key = s.instance_key
)
SELECT
    n.*, c.* EXCLUDE (candidate_id, policy, runs, finished_at),
    (golden_before IS NOT NULL AND golden_after IS NOT NULL)
    AND (NOT has_base OR (none_before IS NOT NULL AND none_after IS NOT NULL))
    AND (NOT well_formed OR (candidate_before IS NOT NULL AND candidate_after IS NOT NULL)) AS measured_swt_bench,
    measured_swt_bench
    AND (NOT has_reference OR (reference_before IS NOT NULL AND reference_after IS NOT NULL)) AS measured_paper
FROM needed AS n
LEFT JOIN chosen AS c ON c.candidate_id = n.candidate_id AND c.policy = n.policy;
