-- Which candidates are under suspicion, and what for?
--
-- One row per counted candidate with a suspicion, for the grader `paper` and the policy of its tables: solved, reasons
-- (`lint:<rule>`, `trajectory:<rule>`), why: one place of them.
-- needs: suspected_candidate, counted_candidate, counted_policy, verdict
CREATE OR REPLACE VIEW suspects AS
SELECT c.snapshot, c.method, c.model, c.instance_id, c.sample, v.solved, s.reasons, s.why
FROM suspected_candidate AS s
JOIN counted_candidate AS c USING (candidate_id)
JOIN counted_policy('tests-only') AS p ON p.candidate_id = s.candidate_id AND p.policy = s.policy
LEFT JOIN verdict AS v
    ON v.snapshot = c.snapshot AND v.candidate_id = c.candidate_id AND v.policy = s.policy AND v.grader = 'paper'
ORDER BY ALL;
