-- The verdict of the public harness since 2025-09-11.
--
-- Columns as in `paper`. The rules are those of `harness_rules` and `harness_verdict`.
-- kept: beside the runs
-- needs: harness_rules, harness_verdict
CREATE OR REPLACE VIEW swt_bench_grader AS
SELECT 'swt_bench' AS grader, false AS only_t, true AS accepts_golden;

CREATE OR REPLACE VIEW swt_bench_outcome AS
SELECT * FROM harness_outcome('swt_bench');

CREATE OR REPLACE VIEW swt_bench_transition AS
SELECT * FROM harness_transition('swt_bench', 'unmatched');

CREATE OR REPLACE VIEW swt_bench AS
SELECT * FROM harness_verdict('swt_bench', 'unmatched');
