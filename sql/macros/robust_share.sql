-- The share in % of robust successes: `robust_share(robust, unchecked, n)`.
--
-- robust: successes that are robust; unchecked: successes whose checks were not all measured; n: instances. Null where a
-- success was not checked (a missing measurement is not 0) and where n is 0.
-- needs:
CREATE OR REPLACE MACRO robust_share(robust, unchecked, n) AS
    CASE WHEN unchecked = 0 THEN round(100.0 * robust / nullif(n, 0), 1) END;
