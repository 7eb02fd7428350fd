-- Which robustness checks does each success pass?
--
-- One row per solved verdict (snapshot, candidate_id, policy, grader) and check. The grader `paper` compares cases of
-- T. Other graders compare each case whose outcome differs with the candidate.
-- result  `passed`: the candidate's cases behave as expected, as the grader counts outcomes; `failed`: some do not;
--         `not_measured`: a run is missing, its cases cannot be paired, or the edit does not apply to the candidate's
--         files; `not_applicable`: the fix has no Python file to edit, or the instance has no valid decoy
-- why     the first differing case with both outcomes, the accepted decoy, or what is missing; empty where passed
-- guard   `repeat`, `placebo`, `paraphrase`, `variant` or `decoy`
-- needs: verdict, guard_result
CREATE OR REPLACE VIEW guard_outcome AS
SELECT v.snapshot, g.*
FROM verdict AS v
JOIN guard_result AS g ON g.candidate_id = v.candidate_id AND g.policy = v.policy AND g.grader = v.grader
WHERE v.solved;
