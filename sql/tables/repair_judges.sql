-- Who finds how many fixes of each repair method right?
--
-- Per snapshot, method, model (sample 0) and judge: `golden`, the golden tests, as in `repair_rate`; `strict`, the same
-- where a fix that changes tests or is flagged for test hacking counts as failed; `own`, the tests that the method worked
-- with, where its attempts are known; `published`, what the source of the fixes says.
-- judge                whose verdict it is
-- n                    instances of which this judge says something
-- repaired             those that it finds repaired
-- rate                 share of them, in %
-- rate_low, rate_high  Wilson's 95 % interval of rate
-- right                repaired ones that the golden tests find right too: the others would be believed wrongly
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
