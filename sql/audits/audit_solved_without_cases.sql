-- Audit, must be empty: a candidate that the grader `paper` calls solved although it has no case of T.
--
-- needs: paper, submission_case
CREATE OR REPLACE VIEW audit_solved_without_cases AS
SELECT snapshot, instance_id, candidate_id, policy
FROM paper AS p
WHERE solved AND NOT EXISTS (
    FROM submission_case AS c WHERE c.candidate_id = p.candidate_id AND c.policy = p.policy AND c.in_t
);
