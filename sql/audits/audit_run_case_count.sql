-- Audit, must be empty: a run whose number of cases differs from the number of its rows.
--
-- cases  number in the run row
-- rows   number of outcomes
-- needs: run, case_outcome
CREATE OR REPLACE VIEW audit_run_case_count AS
SELECT r.instance_id, r.run_key, r.cases, coalesce(o.rows, 0) AS rows
FROM run AS r
LEFT JOIN (SELECT run_key, count(*) AS rows FROM case_outcome GROUP BY run_key) AS o ON o.run_key = r.run_key
WHERE r.status <> 'infrastructure' AND r.cases <> coalesce(o.rows, 0);
