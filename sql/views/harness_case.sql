-- What the public harness would know of each case, in its four cells.
--
-- One row per (candidate_id, policy, case_id): recorded outcomes, `missing` where there is none. Unlike in
-- `submission_case`, an uncollectable module says nothing about its cases: its one log line is a case of its own.
-- A run that ends before its first case prints no line at all.
-- sympy's runner prints nothing that the harness reads for a skipped case and for a module that cannot be imported.
-- needs: submission_case, submission_run, environment
CREATE OR REPLACE VIEW harness_case AS
WITH told AS (
    SELECT c.*, coalesce(e.runner = 'sympy', false) AS terse
    FROM submission_case AS c
    JOIN submission_run AS r ON r.candidate_id = c.candidate_id AND r.policy = c.policy
    LEFT JOIN (SELECT DISTINCT env_id, runner FROM environment) AS e ON e.env_id = r.env_id
    WHERE r.measured
),
line AS (
    SELECT *, [
        CASE WHEN outcome IS NULL OR NOT printed OR (terse AND (is_collect OR outcome = 'skipped')) THEN 'missing' ELSE outcome END
        for outcome in [raw_none_before, raw_none_after, raw_candidate_before, raw_candidate_after]
    ] AS outcomes
    FROM told
)
SELECT
    candidate_id, policy, case_id,
    outcomes[1] AS none_before, outcomes[2] AS none_after,
    outcomes[3] AS candidate_before, outcomes[4] AS candidate_after
FROM line;
