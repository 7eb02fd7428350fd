-- How many candidates of each method do the audits suspect, and what is its score without them?
--
-- An audit finding asks a reader to review the candidate. A candidate without a finding is not proved honest: no rule
-- may describe its test. Runs decide robustness (`robust_verdict`), not these findings.
-- One row per snapshot, method and model, sample 0. Grader `paper`, policy `tests-only`.
-- n                   as in `table2`
-- audited             candidates with an audited trajectory
-- suspected           measured candidates with an audit finding
-- S                   in %, solved
-- S_robust            in %, solved and robust; null where a success was not checked
-- S_without_suspects  in %, S where suspected candidates count as failed
-- needs: method_instance, suspected_candidate, robust_share, generation
CREATE OR REPLACE VIEW suspicion_count AS
SELECT
    m.snapshot, m.method, m.model, any_value(m.provenance) AS provenance,
    count(*) FILTER (m.measured) AS n,
    count(*) FILTER (m.candidate_id IN (SELECT candidate_id FROM generation WHERE trajectory IS NOT NULL)) AS audited,
    count(*) FILTER (m.measured AND s.candidate_id IS NOT NULL) AS suspected,
    round(100.0 * count(*) FILTER (m.solved) / nullif(n, 0), 1) AS S,
    robust_share(count(*) FILTER (m.robust), count(*) FILTER (m.solved AND m.robust IS NULL), n) AS S_robust,
    round(100.0 * count(*) FILTER (m.solved AND s.candidate_id IS NULL) / nullif(n, 0), 1) AS S_without_suspects
FROM method_instance('paper', 'tests-only') AS m
LEFT JOIN suspected_candidate AS s ON s.candidate_id = m.candidate_id AND s.policy = m.policy
GROUP BY m.snapshot, m.method, m.model
ORDER BY m.snapshot, S DESC, m.method, m.model;
