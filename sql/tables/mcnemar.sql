-- Do two methods differ on the same instances?
--
-- Columns of `mcnemar_by`, for the grader `paper` and the policy `tests-only`.
-- needs: mcnemar_by
CREATE OR REPLACE VIEW mcnemar AS
SELECT * FROM mcnemar_by('paper', 'tests-only');
