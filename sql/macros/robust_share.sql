-- The share of robust successes in %: `robust_share(robust, unchecked, n)`.
--
-- Null where a success was not checked (a missing measurement is not 0) and where n is 0.
-- robust     number of robust successes
-- unchecked  number of successes with an unmeasured check
-- n          number of instances
-- needs:
CREATE OR REPLACE MACRO robust_share(robust, unchecked, n) AS
    CASE WHEN unchecked = 0 THEN round(100.0 * robust / nullif(n, 0), 1) END;
