-- Does a method solve less of what is newer than its model's cutoff, taken continuously?
--
-- The fit of `swt rate`: logistic in the years since the cutoff, repositories as random effect (`tasks/ability`); beside
-- it the exact test on before and after, and what that could find (`contamination`, over all verdicts).
-- guarded          whether robust successes alone count in the fit
-- instances        dated and measured ones behind the fit
-- repositories     that they are of
-- effect           of a year more since the cutoff, in logits; below 0 where newer instances are solved less
-- effect_low, effect_high  95 % interval
-- p                one-sided, that the effect is below 0
-- spread           standard deviation of repositories, in logits
-- difference       S before the cutoff minus S after it, in percentage points
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
