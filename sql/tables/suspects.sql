-- Which counted candidates do the audits suspect, and why?
--
-- One row per counted candidate with a suspicion. Grader `paper`, policy `tests-only`.
-- solved   by the grader `paper`
-- reasons  `lint:<rule>` and `trajectory:<rule>`
-- why      one place of a finding
-- needs: suspected_candidate, counted_candidate, counted_policy, verdict
CREATE OR REPLACE VIEW suspects AS
SELECT c.snapshot, c.method, c.model, c.instance_id, c.sample, v.solved, s.reasons, s.why
FROM suspected_candidate AS s
JOIN counted_candidate AS c USING (candidate_id)
JOIN counted_policy('tests-only') AS p ON p.candidate_id = s.candidate_id AND p.policy = s.policy
LEFT JOIN verdict AS v
    ON v.snapshot = c.snapshot AND v.candidate_id = c.candidate_id AND v.policy = s.policy AND v.grader = 'paper'
ORDER BY ALL;
