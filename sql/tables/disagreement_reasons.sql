-- Where do the graders differ, and why?
--
-- Counts of `grader_disagreement` per snapshot, policy, pair of graders, rejecting grader, its reason, method and
-- model.
-- says_no        the grader that does not call the candidate solved
-- reason         its reason
-- candidates     number of candidates
-- of_candidates  candidates of this method and policy that both graders measured
-- example        one instance of them
-- needs: grader_disagreement, verdict
CREATE OR REPLACE VIEW disagreement_reasons AS
WITH measured AS (
    SELECT snapshot, policy, method, model, count(DISTINCT candidate_id) AS of_candidates
    FROM verdict
    WHERE measured
    GROUP BY ALL
)
SELECT
    d.snapshot, d.policy, d.grader_a, d.grader_b,
    CASE WHEN d.solved_a THEN d.grader_b ELSE d.grader_a END AS says_no,
    d.reason, d.method, d.model,
    count(*) AS candidates,
    any_value(m.of_candidates) AS of_candidates,
    min(d.instance_id) AS example
FROM grader_disagreement AS d
JOIN measured AS m
    ON m.snapshot = d.snapshot AND m.policy = d.policy AND m.method = d.method AND m.model IS NOT DISTINCT FROM d.model
GROUP BY ALL
ORDER BY d.snapshot, d.policy, candidates DESC, d.grader_a, d.grader_b, d.reason, d.method, d.model;
