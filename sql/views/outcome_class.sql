-- What does an outcome count as, for each grader?
--
-- class  `pass`, `fail` or `none` (neither)
-- seen   whether the public harness's log has a line for it at all: it knows PASSED, FAILED, ERROR and SKIPPED only,
--        so expected failures, unexpected passes and cases that never finished leave no trace
-- `paper`: "we consider a test to fail if an error is thrown during its execution" (section 3.1).
-- The public harness: failed is a failure, passed is a pass, whatever else is in the log is neither.
-- needs:
CREATE OR REPLACE VIEW outcome_class AS
WITH fact (outcome, paper, harness, seen) AS (
    VALUES
        ('passed', 'pass', 'pass', true),
        ('failed', 'fail', 'fail', true),
        ('error', 'fail', 'none', true),
        ('skipped', 'none', 'none', true),
        ('xfailed', 'none', 'none', false),
        ('xpassed', 'none', 'none', false),
        ('timeout', 'fail', 'none', false),
        ('missing', 'none', 'none', false)
)
SELECT 'paper' AS grader, outcome, paper AS class, outcome <> 'missing' AS seen FROM fact
UNION ALL
SELECT grader, outcome, harness, seen FROM fact CROSS JOIN (VALUES ('swt_bench'), ('swt_bench_2024')) AS g (grader);
