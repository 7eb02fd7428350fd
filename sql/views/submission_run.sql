-- Which runs decide a well-formed submission, all from one environment and sandbox?
--
-- One row per (candidate_id, policy) that is well-formed.
-- env_id, sandbox           those with the most runs, then the latest
-- has_base                  whether suite `none` has any file to run
-- none_before, none_after   key of the run of suite `none` on each code state; null without a run
-- candidate_before, candidate_after  key of the run of the candidate's suite on each code state; null without a run
-- measured                  every required run exists
-- kept: beside the runs
-- needs: submission, suite, submission_cell
CREATE OR REPLACE VIEW submission_run AS
WITH cells AS (
    SELECT
        candidate_id, policy, env_id, sandbox,
        max(run_key) FILTER (side = 'none' AND code_state = 'before') AS none_before,
        max(run_key) FILTER (side = 'none' AND code_state = 'after') AS none_after,
        max(run_key) FILTER (side = 'candidate' AND code_state = 'before') AS candidate_before,
        max(run_key) FILTER (side = 'candidate' AND code_state = 'after') AS candidate_after,
        count(*) AS runs,
        max(finished_at) AS finished_at
    FROM submission_cell
    WHERE side IN ('none', 'candidate')
    GROUP BY candidate_id, policy, env_id, sandbox
),
chosen AS (
    SELECT *
    FROM cells
    QUALIFY row_number() OVER (
        PARTITION BY candidate_id, policy ORDER BY runs DESC, finished_at DESC, env_id, sandbox
    ) = 1
)
SELECT
    s.candidate_id, s.policy, s.instance_key, s.suite_id, c.env_id, c.sandbox,
    len(u.base_files) > 0 AS has_base,
    c.none_before, c.none_after, c.candidate_before, c.candidate_after,
    c.candidate_before IS NOT NULL AND c.candidate_after IS NOT NULL
    AND (NOT has_base OR (c.none_before IS NOT NULL AND c.none_after IS NOT NULL)) AS measured
FROM submission AS s
JOIN suite AS u ON u.suite_id = s.suite_id
LEFT JOIN chosen AS c ON c.candidate_id = s.candidate_id AND c.policy = s.policy
WHERE s.well_formed;
