-- Whether an outcome is a failure by the paper: an error is thrown (section 3.1).
--
-- `tasks.domain.outcome.FAILURES` is the same.
-- needs:
CREATE OR REPLACE MACRO fails(outcome) AS outcome IN ('failed', 'error', 'timeout');
