-- How many fixes of each repair method does each judge call right?
--
-- One row per snapshot, method, model (sample 0) and judge.
-- judge                `golden`: the golden tests, as in `repair_rate`; `strict`: the same, but a fix that changes
--                      tests or is flagged for test hacking counts as failed; `own`: the tests that the method used,
--                      where its attempts are known; `published`: the source of the fixes
-- n                    instances with a result of this judge
-- repaired             instances that the judge calls repaired
-- rate                 their share, in %
-- rate_low, rate_high  Wilson's 95 % interval of rate
-- right                repaired instances that the golden tests also call right
-- needs: repair_instance, repair_status, repair_attempt, wilson
CREATE OR REPLACE VIEW repair_judges AS
WITH verdicts AS (
    SELECT
        i.snapshot, i.method, i.model, i.resolved,
        [
            {'judge': 'golden', 'says': i.resolved},
            {'judge': 'strict', 'says': i.resolved AND NOT i.touches_tests AND NOT i.flagged},
            {'judge': 'own', 'says': a."end" = 'passed'},
            {'judge': 'published', 'says': s.published}
        ] AS all_say
    FROM repair_instance AS i
    LEFT JOIN repair_status AS s ON s.repair_id = i.repair_id AND s.snapshot = i.snapshot
    LEFT JOIN repair_attempt AS a ON a.attempt_id = s.source
),
said AS (SELECT snapshot, method, model, resolved, unnest(all_say, recursive := true) FROM verdicts)
SELECT
    snapshot, method, model, judge,
    count(says) AS n,
    count(*) FILTER (says) AS repaired,
    round(100.0 * count(*) FILTER (says) / count(says), 1) AS rate,
    round(100 * wilson_low(count(*) FILTER (says), count(says)), 1) AS rate_low,
    round(100 * wilson_high(count(*) FILTER (says), count(says)), 1) AS rate_high,
    count(*) FILTER (says AND resolved) AS "right"
FROM said
WHERE says IS NOT NULL
GROUP BY snapshot, method, model, judge
ORDER BY snapshot, method, model, list_position(['golden', 'strict', 'own', 'published'], judge);
