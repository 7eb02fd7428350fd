-- Wilson's score interval for a rate of k successes in n trials, at 95 %: `wilson_low(k, n)`, `wilson_high(k, n)`.
--
-- Shares between 0 and 1; null where n is 0. Wilson 1927, without continuity correction.
-- needs:
CREATE OR REPLACE MACRO wilson_low(k, n) AS
    -- CASE is needed because greatest and least ignore null: without it, 0 of 0 gives the interval 0 to 1.
    CASE WHEN n > 0 THEN greatest(0.0, (k / nullif(n, 0)::DOUBLE + 1.959963984540054 ** 2 / (2 * n)
        - 1.959963984540054 * sqrt(
            k / nullif(n, 0)::DOUBLE * (1 - k / nullif(n, 0)::DOUBLE) / n + 1.959963984540054 ** 2 / (4.0 * n * n)))
    / (1 + 1.959963984540054 ** 2 / nullif(n, 0))) END;
CREATE OR REPLACE MACRO wilson_high(k, n) AS
    CASE WHEN n > 0 THEN least(1.0, (k / nullif(n, 0)::DOUBLE + 1.959963984540054 ** 2 / (2 * n)
        + 1.959963984540054 * sqrt(
            k / nullif(n, 0)::DOUBLE * (1 - k / nullif(n, 0)::DOUBLE) / n + 1.959963984540054 ** 2 / (4.0 * n * n)))
    / (1 + 1.959963984540054 ** 2 / nullif(n, 0))) END;
