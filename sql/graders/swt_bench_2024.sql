-- The verdict of the public harness until 2025-09-11, the source of most published numbers.
--
-- Columns as in `paper`. The rules are those of `harness_rules` and `harness_verdict`.
-- These rules reject a golden suite whose module cannot be imported before the fix.
-- kept: beside the runs
-- needs: harness_rules, harness_verdict
CREATE OR REPLACE VIEW swt_bench_2024_grader AS
SELECT 'swt_bench_2024' AS grader, false AS only_t, false AS accepts_golden;

CREATE OR REPLACE VIEW swt_bench_2024_outcome AS
SELECT * FROM harness_outcome('swt_bench_2024');

CREATE OR REPLACE VIEW swt_bench_2024_transition AS
SELECT * FROM harness_transition('swt_bench_2024', 'fail_to_fail');

CREATE OR REPLACE VIEW swt_bench_2024 AS
SELECT * FROM harness_verdict('swt_bench_2024', 'fail_to_fail');
