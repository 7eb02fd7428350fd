-- What is the overall result of the robustness checks of each submission, solved or not, per grader?
--
-- One row per (candidate_id, policy, grader) of a well-formed submission.
-- failed_guards    names of the checks that failed, sorted
-- unmeasured       a check was not measured
-- decoys           decoys that the candidate ran on
-- decoys_rejected  those of them that it rejects
-- needs: guard_result
CREATE OR REPLACE VIEW guard_summary AS
SELECT
    instance_key, candidate_id, policy, grader,
    coalesce(list(guard ORDER BY guard) FILTER (result = 'failed'), []) AS failed_guards,
    bool_or(result = 'not_measured') AS unmeasured,
    sum(decoys)::BIGINT AS decoys,
    sum(decoys_rejected)::BIGINT AS decoys_rejected
FROM guard_result
GROUP BY instance_key, candidate_id, policy, grader;
