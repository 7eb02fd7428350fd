-- Does a method solve fewer instances the longer they were opened after its model's cutoff?
--
-- The fit of `swt rate` is logistic in the years since the cutoff, with repositories as random effect
-- (`tasks/ability`). Next to it: the exact test on before and after, and its detectable difference (`contamination`,
-- over all verdicts).
-- guarded                  whether only robust successes count in the fit
-- instances                dated and measured instances in the fit
-- repositories             number of their repositories
-- effect                   of one more year since the cutoff, in logits; below 0 where newer instances are solved less
--                          often
-- effect_low, effect_high  95 % interval
-- p                        one-sided, that the effect is below 0
-- spread                   standard deviation of repositories, in logits
-- difference               S before the cutoff minus S after it, in percentage points
-- needs: time_effect, contamination
CREATE OR REPLACE VIEW contamination_time AS
SELECT
    t.snapshot, t.grader, t.guarded, t.method, t.model, c.cutoff, t.instances, t.repositories,
    round(t.effect, 2) AS effect, round(t.low, 2) AS effect_low, round(t.high, 2) AS effect_high,
    round(t.p, 4) AS p, round(t.spread, 2) AS spread,
    c.n_before, c.n_after, c.difference, c.p_exact, c.detectable
FROM time_effect AS t
JOIN contamination AS c
    ON c.snapshot = t.snapshot AND c.grader = t.grader AND c.method = t.method AND c.model = t.model
ORDER BY t.snapshot, t.grader, t.guarded, t.p, t.method, t.model;
