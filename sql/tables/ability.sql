-- How able is each method on one scale over all months, next to its score on each snapshot?
--
-- S differs between months because months differ in difficulty; ability does not (`swt rate` fits it). Compare only
-- rows with the same `part`.
-- guarded                   whether ability counts robust successes only
-- n                         instances that count
-- S                         rate of solved ones on this snapshot, in %
-- S_robust                  share that is robust, in %
-- ability                   in logits: at 0 a method solves half of the instances that are as hard as the first
--                           snapshot's mean
-- ability_low, ability_high  95 % interval
-- difficulty                mean of this snapshot's instances, in logits above the first snapshot's
-- spread                    standard deviation of a snapshot's instances, in logits
-- part                      abilities are comparable within a part
-- needs: method_ability, snapshot_difficulty, table2_by
CREATE OR REPLACE VIEW ability AS
SELECT
    s.snapshot, a.grader, a.guarded, s.method, s.model, s.n, s.S, s.S_robust,
    round(a.ability, 2) AS ability, round(a.low, 2) AS ability_low, round(a.high, 2) AS ability_high,
    round(d.difficulty, 2) AS difficulty, round(d.spread, 2) AS spread, a.part
FROM method_ability AS a
JOIN table2_of(NULL::VARCHAR[], 'tests-only', NULL::VARCHAR[]) AS s
    ON s.grader = a.grader AND s.method = a.method AND s.model IS NOT DISTINCT FROM a.model
LEFT JOIN snapshot_difficulty AS d ON d.grader = a.grader AND d.guarded = a.guarded AND d.snapshot = s.snapshot
ORDER BY s.snapshot, a.grader, a.guarded, a.part, a.ability DESC, s.method, s.model;
