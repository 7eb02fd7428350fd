-- On which candidates do two graders differ about S?
--
-- One row per candidate row, policy and pair of graders that both measured it.
-- grader_a, grader_b  the two graders, in alphabetical order
-- solved_a, solved_b  whether each calls it solved
-- reason              of the grader that does not
-- needs: verdict
CREATE OR REPLACE VIEW grader_disagreement AS
SELECT
    a.snapshot, a.instance_id, a.method, a.model, a.sample, a.policy, a.candidate_id,
    a.grader AS grader_a, b.grader AS grader_b, a.solved AS solved_a, b.solved AS solved_b,
    coalesce(nullif(a.reason, ''), b.reason) AS reason
FROM verdict AS a
JOIN verdict AS b
    ON b.candidate_id = a.candidate_id AND b.policy = a.policy AND b.snapshot = a.snapshot AND a.grader < b.grader
WHERE a.solved <> b.solved;
