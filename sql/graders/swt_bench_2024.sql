-- The verdict of the public harness until 2025-09-11, which most published numbers come from.
--
-- Columns as in `paper`; the rules are those of `harness_verdict`, the pairs of outcomes those of `transition`.
-- needs: harness_verdict
CREATE OR REPLACE VIEW swt_bench_2024 AS
SELECT * FROM harness_verdict('swt_bench_2024');
