-- Unbiased pass@k for n samples with c successes: the probability that k random samples contain a success.
--
-- Between 0 and 1; null where n < k. Chen et al. 2021: 1 - C(n - c, k) / C(n, k).
-- needs: exact_tests
CREATE OR REPLACE MACRO unbiased_pass(n, c, k) AS
    CASE
        WHEN n < k THEN NULL
        WHEN n - c < k THEN 1.0
        ELSE 1 - exp(log_choose(n - c, k) - log_choose(n, k))
    END;
