-- Which runs can judge a submission, in each environment and sandbox?
--
-- One row per (candidate_id, policy, env_id, sandbox, side, code_state), with run_key and traced_run_key.
-- side  `candidate` its own suite · `none` the repository's tests in the candidate's files · `golden` the golden suite
--       · `reference` the repository's tests in the golden files (T^R)
-- needs: submission, suite, golden_suite, sandbox_run
CREATE OR REPLACE VIEW submission_cell AS
WITH wanted AS (
    SELECT candidate_id, policy, instance_key, 'candidate' AS side, suite_id AS suite_ref
    FROM submission
    WHERE well_formed
    UNION ALL
    SELECT s.candidate_id, s.policy, s.instance_key, 'none', u.base_files_key
    FROM submission AS s JOIN suite AS u ON u.suite_id = s.suite_id
    WHERE s.well_formed AND len(u.base_files) > 0
    UNION ALL
    SELECT s.candidate_id, s.policy, s.instance_key, 'golden', g.suite_id
    FROM submission AS s JOIN golden_suite AS g ON g.instance_key = s.instance_key
    UNION ALL
    SELECT s.candidate_id, s.policy, s.instance_key, 'reference', g.base_files_key
    FROM submission AS s JOIN golden_suite AS g ON g.instance_key = s.instance_key
    WHERE g.has_base
)
SELECT
    w.candidate_id, w.policy, r.env_id, r.sandbox, w.side, r.code_state,
    r.run_key, r.traced_run_key, r.finished_at
FROM wanted AS w JOIN sandbox_run AS r ON r.instance_key = w.instance_key AND r.suite_ref = w.suite_ref;
