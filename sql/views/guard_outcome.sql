-- Does each would-be success hold when its guards look at it?
--
-- One row per solved verdict (snapshot, candidate_id, policy, grader) and guard. result:
-- passed          the cases that the grader looks at are what they were, as that grader counts outcomes
-- failed          some of them are not
-- not_measured    a run is not there, its cases cannot be paired with those of the run that counts, or the edit does
--                 not apply to what the candidate makes of the code
-- not_applicable  the fix cannot be edited for this guard: it has no Python file that today's grammar parses
-- why  the first case that differs with what it was and is, or what is missing; empty where passed.
-- `repeat`, `placebo` and `paraphrase` are runs. The paper's grader looks at T, the others at every case that the
-- candidate makes behave otherwise. `lint` fails where the lint's policy rejects; a suspicion is told elsewhere.
-- guard  `repeat`, `placebo`, `paraphrase` or `lint`
-- needs: verdict, guard_result
CREATE OR REPLACE VIEW guard_outcome AS
SELECT v.snapshot, g.*
FROM verdict AS v
JOIN guard_result AS g ON g.candidate_id = v.candidate_id AND g.policy = v.policy AND g.grader = v.grader
WHERE v.solved;
