-- Whether an outcome is a failure as the paper defines it: an error is thrown (section 3.1).
--
-- Equal to `tasks.domain.outcome.FAILURES`.
-- needs:
CREATE OR REPLACE MACRO fails(outcome) AS outcome IN ('failed', 'error', 'timeout');
