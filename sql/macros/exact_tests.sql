-- Exact tests on counts, as scalar macros. Each test returns a p-value between 0 and 1.
--
-- `log_choose(n, k)`: natural logarithm of the binomial coefficient.
-- `mcnemar_exact(b, c)`: two-sided, for b and c discordant pairs of two methods on the same instances.
-- `hypergeometric_tail(k, m, n, t)`: P(overlap >= k) of two random sets of m and n among t instances (paper, table 6).
-- `fisher_greater(a, n, b, m)`: one-sided exact test that a of n is a higher rate than b of m.
-- needs:
CREATE OR REPLACE MACRO log_choose(n, k) AS lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
CREATE OR REPLACE MACRO mcnemar_exact(b, c) AS
    least(1.0, 2 * list_sum([
        exp(log_choose(b + c, i) - (b + c) * ln(2)) for i in range(0, least(b, c)::BIGINT + 1)
    ]));
CREATE OR REPLACE MACRO hypergeometric_tail(k, m, n, t) AS
    least(1.0, coalesce(list_sum([
        exp(log_choose(m, i) + log_choose(t - m, n - i) - log_choose(t, n))
        for i in range(greatest(k, m + n - t, 0)::BIGINT, least(m, n)::BIGINT + 1)
    ]), 0.0));
CREATE OR REPLACE MACRO fisher_greater(a, n, b, m) AS hypergeometric_tail(a, a + b, n, n + m);
