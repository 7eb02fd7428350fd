-- Audit, must be empty: a case with two different outcomes in one run.
--
-- outcomes  all recorded outcomes of the case, sorted
-- needs: case_outcome
CREATE OR REPLACE VIEW audit_two_outcomes AS
SELECT run_key, case_id, list(DISTINCT outcome ORDER BY outcome) AS outcomes
FROM case_outcome
GROUP BY run_key, case_id
HAVING count(DISTINCT outcome) > 1;
