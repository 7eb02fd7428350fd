-- What does the leaderboard show for each method?
--
-- One row per snapshot, method and model, grader `paper`, under `tests-only`, the best S_robust first. Columns of
-- `table2`.
-- The dc_… columns are change coverage in % (`table3`, definition `paper`). The view adds strength with its interval,
-- cost (`table10`, `cost_per_success`), time (`table11`) and S without suspected candidates (`suspicion_count`).
-- candidates                instances for which it submitted a candidate
-- name                      method and model in one
-- control                   the method is `golden` or `nop`
-- cutoff                    last day of the model's training data
-- dc_n                      instances in the mean change coverage
-- strength_tried            solved candidates that ran on a wrong fix of their instance
-- strength_fixes            pairs of such a candidate and such a fix
-- ability                   in logits, over all snapshots of the last `swt rate`; null without one
-- ability_low, ability_high  its 95 % interval
-- ability_part              abilities are comparable within a part
-- ability_instances         number of instances in its fit, over all snapshots
-- needs: counted_candidate, table2, table3, strength, cost_per_success, table10, table11, suspicion_count, model_fact
-- needs: method_ability
CREATE OR REPLACE VIEW page_method AS
WITH handed_in AS (
    SELECT snapshot, method, model, count(*) AS candidates
    FROM counted_candidate
    WHERE sample = 0
    GROUP BY snapshot, method, model
)
SELECT
    t.* EXCLUDE (strength),
    t.method || coalesce(' (' || t.model || ')', '') AS name,
    t.method IN ('golden', 'nop') AS control,
    coalesce(h.candidates, 0) AS candidates,
    d.dc_all, d.dc_solved, d.dc_unsolved, d.n_all AS dc_n,
    s.strength, s.strength_low, s.strength_high, s.tried AS strength_tried, s.fixes AS strength_fixes,
    c.cost_usd, c.usd_per_instance, c.calls, c.tokens_in, c.tokens_out, c.unpriced, e.usd_per_success,
    w.seconds_mean, w.seconds_median,
    u.audited, u.suspected, u.S_without_suspects,
    CAST(f.cutoff AS DATE) - 1 AS cutoff,
    round(a.ability, 2) AS ability, round(a.low, 2) AS ability_low, round(a.high, 2) AS ability_high,
    a.part AS ability_part, a.instances AS ability_instances
FROM table2 AS t
LEFT JOIN handed_in AS h
    ON h.snapshot = t.snapshot AND h.method = t.method AND h.model IS NOT DISTINCT FROM t.model
LEFT JOIN table3 AS d
    ON d.snapshot = t.snapshot AND d.method = t.method AND d.model IS NOT DISTINCT FROM t.model
    AND d.definition = 'paper'
LEFT JOIN strength AS s
    ON s.snapshot = t.snapshot AND s.method = t.method AND s.model IS NOT DISTINCT FROM t.model
LEFT JOIN table10 AS c ON c.snapshot = t.snapshot AND c.method = t.method AND c.model = t.model
LEFT JOIN cost_per_success AS e
    ON e.snapshot = t.snapshot AND e.method = t.method AND e.model = t.model AND e.grader = 'paper'
LEFT JOIN table11 AS w ON w.snapshot = t.snapshot AND w.method = t.method AND w.model = t.model
LEFT JOIN suspicion_count AS u
    ON u.snapshot = t.snapshot AND u.method = t.method AND u.model IS NOT DISTINCT FROM t.model
LEFT JOIN model_fact AS f ON f.model = t.model
LEFT JOIN method_ability AS a
    ON a.grader = 'paper' AND NOT a.guarded AND a.method = t.method AND a.model IS NOT DISTINCT FROM t.model
ORDER BY t.snapshot, t.S_robust DESC NULLS LAST, t.S DESC NULLS LAST, t.method, t.model;
