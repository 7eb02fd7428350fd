-- The verdict of the public harness since 2025-09-11.
--
-- Columns as in `paper`; the rules are those of `harness_verdict`, the pairs of outcomes those of `transition`.
-- needs: harness_verdict
CREATE OR REPLACE VIEW swt_bench AS
SELECT * FROM harness_verdict('swt_bench');
