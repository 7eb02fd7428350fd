-- Which policy (patch filter) of a candidate does a table read?
--
-- `for_policy`; for the controls `golden` and `nop` any policy that they have.
-- Columns: candidate_id, policy; one row per candidate that has such a submission.
-- needs: counted_candidate, submission
CREATE OR REPLACE MACRO counted_policy(for_policy) AS TABLE
SELECT s.candidate_id, s.policy
FROM submission AS s
WHERE s.policy = for_policy
    OR s.candidate_id IN (SELECT candidate_id FROM counted_candidate WHERE method IN ('golden', 'nop'))
QUALIFY row_number() OVER (PARTITION BY s.candidate_id ORDER BY s.policy <> for_policy, s.policy) = 1;
