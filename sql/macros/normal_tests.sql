-- Tests and sample sizes based on the normal distribution, as scalar macros.
--
-- `normal_cdf(z)`: by its power series; exact to 1e-12 for |z| <= 6, beyond that 0 or 1.
-- `two_proportion_z(a, n, b, m)`: one-sided pooled p-value that a of n is a higher rate than b of m (paper, table 7).
-- `detectable_difference(p, n, m)`: smallest difference from rate p that samples of n and m find with power 80 % at the
-- one-sided level 5 %.
-- `instances_needed(p, d)`: size of each of two samples to find difference d from rate p, with the same power and
-- level.
-- needs:
CREATE OR REPLACE MACRO normal_cdf(z) AS
    CASE
        WHEN z > 6 THEN 1.0
        WHEN z < -6 THEN 0.0
        WHEN z = 0 THEN 0.5
        ELSE 0.5 + sign(z) * list_sum([
            exp((2 * i + 1) * ln(abs(z)) - z * z / 2 - i * ln(2) - lgamma(i + 1.5) + lgamma(0.5) - ln(2))
            for i in range(0, 120)
        ]) / sqrt(2 * pi())
    END;
CREATE OR REPLACE MACRO two_proportion_z(a, n, b, m) AS
    CASE
        WHEN n = 0 OR m = 0 THEN NULL
        WHEN a + b = 0 OR a + b = n + m THEN 0.5
        ELSE 1 - normal_cdf(
            (a / n::DOUBLE - b / m::DOUBLE)
            / sqrt((a + b) / (n + m)::DOUBLE * (1 - (a + b) / (n + m)::DOUBLE) * (1 / n::DOUBLE + 1 / m::DOUBLE))
        )
    END;
CREATE OR REPLACE MACRO detectable_difference(p, n, m) AS
    (1.6448536269514722 + 0.8416212335729143)
    * sqrt(p * (1.0 - p) * (1 / nullif(n, 0)::DOUBLE + 1 / nullif(m, 0)::DOUBLE));
CREATE OR REPLACE MACRO instances_needed(p, d) AS
    ceil(2 * p * (1.0 - p) * ((1.6448536269514722 + 0.8416212335729143) / nullif(d, 0)) ** 2)::BIGINT;
