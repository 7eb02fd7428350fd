-- What do the robustness checks of each submission come to, solved or not, as each grader counts outcomes?
--
-- One row per (candidate_id, policy, grader) of a well-formed submission: failed_guards: names of the checks that failed,
-- sorted; unmeasured: a check was not measured; decoys: decoys that the candidate ran on; decoys_rejected: those of them
-- that it rejects.
-- needs: guard_result, decoy_rejection
CREATE OR REPLACE VIEW guard_summary AS
WITH met AS (
    SELECT candidate_id, policy, count(rejected) AS decoys, count(*) FILTER (rejected) AS decoys_rejected
    FROM decoy_rejection
    GROUP BY candidate_id, policy
)
SELECT
    g.instance_key, g.candidate_id, g.policy, g.grader,
    coalesce(list(g.guard ORDER BY g.guard) FILTER (g.result = 'failed'), []) AS failed_guards,
    bool_or(g.result = 'not_measured') AS unmeasured,
    coalesce(any_value(m.decoys), 0) AS decoys,
    coalesce(any_value(m.decoys_rejected), 0) AS decoys_rejected
FROM guard_result AS g
LEFT JOIN met AS m ON m.candidate_id = g.candidate_id AND m.policy = g.policy
GROUP BY g.instance_key, g.candidate_id, g.policy, g.grader;
