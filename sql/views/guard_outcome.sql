-- Which robustness checks does each success pass?
--
-- One row per solved verdict (snapshot, candidate_id, policy, grader) and guard. result:
-- passed          the candidate's cases behave as they should, as that grader counts outcomes
-- failed          some of them do not
-- not_measured    a run is missing, its cases cannot be paired with those of the run that counts, or the edit does not
--                 apply to the candidate's files
-- not_applicable  the check cannot be made for this fix: it has no Python file to edit, or the instance no valid decoy
-- why  the first case that differs with what it was and is, the decoy that is accepted, or what is missing; empty where
-- passed. The paper's grader compares cases of T, the others each case that the candidate makes behave otherwise.
-- guard  `repeat`, `placebo`, `paraphrase`, `variant` or `decoy`
-- needs: verdict, guard_result
CREATE OR REPLACE VIEW guard_outcome AS
SELECT v.snapshot, g.*
FROM verdict AS v
JOIN guard_result AS g ON g.candidate_id = v.candidate_id AND g.policy = v.policy AND g.grader = v.grader
WHERE v.solved;
