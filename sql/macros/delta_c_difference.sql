-- Do two methods differ in change coverage? A paired bootstrap over the instances that both are measured on.
--
-- `FROM delta_c_difference('2026-11', 'method (model)', 'other method', 'paper')`. The arguments are a snapshot, two
-- names as in `method_instance` and a definition. Grader `paper`, policy `tests-only`.
-- One row with columns instances, mean_a, mean_b, difference (a - b, all in %), low, high and p. The interval low to
-- high is the 95 % percentile interval of 2,000 resamples; p is two-sided.
-- The result is deterministic: each draw comes from the MD5 of its number, so equal rows give equal intervals on every
-- machine.
-- needs: method_instance, change_coverage
CREATE OR REPLACE MACRO delta_c_difference(for_snapshot, method_a, method_b, for_definition) AS TABLE
WITH covered AS (
    SELECT m.name, m.instance_id, CASE WHEN m.candidate_id IS NULL THEN 0.0 ELSE d.delta_c END AS delta_c
    FROM method_instance('paper', 'tests-only') AS m
    LEFT JOIN change_coverage AS d
        ON d.candidate_id = m.candidate_id AND d.policy = m.policy AND d.definition = for_definition
    WHERE m.snapshot = for_snapshot AND m.name IN (method_a, method_b)
),
pair AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY a.instance_id) - 1 AS place,
        count(*) OVER () AS instances,
        a.delta_c AS a, b.delta_c AS b
    FROM covered AS a JOIN covered AS b ON b.instance_id = a.instance_id
    WHERE a.name = method_a AND b.name = method_b AND a.delta_c IS NOT NULL AND b.delta_c IS NOT NULL
),
draw AS (
    SELECT
        r.resample,
        (md5_number_lower(r.resample || ':' || p.place) % p.instances::UBIGINT)::BIGINT AS place
    FROM pair AS p CROSS JOIN (SELECT unnest(range(2000)) AS resample) AS r
),
mean AS (
    SELECT d.resample, avg(p.a - p.b) AS difference
    FROM draw AS d JOIN pair AS p ON p.place = d.place
    GROUP BY d.resample
),
spread AS (
    SELECT
        quantile_cont(difference, 0.025) AS low,
        quantile_cont(difference, 0.975) AS high,
        least(1.0, 2.0 * (1 + least(count(*) FILTER (difference <= 0), count(*) FILTER (difference >= 0))) / 2001) AS p
    FROM mean
)
SELECT
    count(*) AS instances,
    round(100 * avg(pair.a), 1) AS mean_a,
    round(100 * avg(pair.b), 1) AS mean_b,
    round(100 * avg(pair.a - pair.b), 1) AS difference,
    round(100 * any_value(spread.low), 1) AS low,
    round(100 * any_value(spread.high), 1) AS high,
    any_value(spread.p) AS p
FROM pair CROSS JOIN spread;
