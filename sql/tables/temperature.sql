-- How does a method's temperature change its rates, from sample to sample?
--
-- The paper's Table 8. One row per snapshot, method and model. Grader `paper`, policy `tests-only`. Instances without a
-- verdict in a sample are excluded.
-- temperature               of the method's calls; null where none was sent
-- samples                   number of samples with verdicts
-- W, S, F_X                 mean over the samples' own rates, in %
-- W_half, S_half, F_X_half  half width of the 95 % interval of the mean (1.96 standard errors); null for a single
--                           sample
-- needs: method_call, verdict
CREATE OR REPLACE VIEW temperature AS
WITH warm AS (
    SELECT snapshot, method, model, max(temperature) AS temperature
    FROM method_call
    GROUP BY snapshot, method, model
),
sampled AS (
    SELECT
        v.snapshot, v.method, v.model, w.temperature, v.sample,
        100.0 * avg(v.well_formed::INT) AS W, 100.0 * avg(v.solved::INT) AS S, 100.0 * avg(v.fail_to_any::INT) AS F_X
    FROM verdict AS v
    JOIN warm AS w ON w.snapshot = v.snapshot AND w.method = v.method AND w.model = v.model
    WHERE v.grader = 'paper' AND v.policy = 'tests-only' AND v.measured
    GROUP BY ALL
)
SELECT
    snapshot, method, model, temperature, count(*) AS samples,
    round(avg(W), 1) AS W, round(1.96 * stddev_samp(W) / sqrt(count(*)), 1) AS W_half,
    round(avg(S), 1) AS S, round(1.96 * stddev_samp(S) / sqrt(count(*)), 1) AS S_half,
    round(avg(F_X), 1) AS F_X, round(1.96 * stddev_samp(F_X) / sqrt(count(*)), 1) AS F_X_half
FROM sampled
GROUP BY snapshot, method, model, temperature
ORDER BY snapshot, method, model, temperature;
