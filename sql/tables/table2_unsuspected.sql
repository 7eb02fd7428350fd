-- What is left of each method's score without the candidates that the audits suspect?
--
-- Per snapshot, method and model, sample 0, for the grader `paper` and the policy `tests-only`: n, S and S_guarded as in
-- table2; audited: candidates with a trajectory that was read; suspected: candidates under suspicion; S_unsuspected: S
-- with their successes taken for failures; S_without: S among the instances whose candidate is not suspected.
-- S, S_guarded  as in `table2`, where a suspected candidate solves nothing
-- needs: method_instance, suspected_candidate, guarded_share, generation
CREATE OR REPLACE VIEW table2_unsuspected AS
SELECT
    m.snapshot, m.method, m.model, any_value(m.provenance) AS provenance,
    count(*) FILTER (m.measured) AS n,
    count(*) FILTER (m.candidate_id IN (SELECT candidate_id FROM generation WHERE trajectory IS NOT NULL)) AS audited,
    count(*) FILTER (m.measured AND s.candidate_id IS NOT NULL) AS suspected,
    round(100.0 * count(*) FILTER (m.solved) / nullif(n, 0), 1) AS S,
    guarded_share(count(*) FILTER (m.guarded), count(*) FILTER (m.solved AND m.guarded IS NULL), n) AS S_guarded,
    round(100.0 * count(*) FILTER (m.solved AND s.candidate_id IS NULL) / nullif(n, 0), 1) AS S_unsuspected,
    round(100.0 * count(*) FILTER (m.solved AND s.candidate_id IS NULL) / nullif(n - suspected, 0), 1) AS S_without
FROM method_instance('paper', 'tests-only') AS m
LEFT JOIN suspected_candidate AS s ON s.candidate_id = m.candidate_id AND s.policy = m.policy
GROUP BY m.snapshot, m.method, m.model
ORDER BY m.snapshot, S DESC, m.method, m.model;
