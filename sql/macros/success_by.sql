-- How does success depend on a property of the instances? Rates of each method with intervals.
--
-- FROM success_by('paper', 'tests-only') WHERE "by" = 'repository'.
-- One row per snapshot, property, part, method and model, sample 0 (figures 2, 5 and 9). An instance without a value is
-- excluded for that property only.
-- by             `repository`, `year` and `month` (of the pull request, UTC), `words` (of the statement, in bands)
-- part           value of the property
-- n              measured instances
-- unmeasured     instances without the runs
-- solved         number of solved instances
-- S              in %
-- S_low, S_high  Wilson's 95 % interval of S
-- S_robust       null where a success was not fully checked
-- needs: method_instance, used_instance, instance_fact, wilson, robust_share
CREATE OR REPLACE MACRO success_by(for_grader, for_policy) AS TABLE
WITH property AS (
    SELECT
        t.snapshot, t.instance_id,
        unnest([
            {'by': 'repository', 'part': t.repo},
            {'by': 'year', 'part': strftime(t.created_at, '%Y')},
            {'by': 'month', 'part': strftime(t.created_at, '%Y-%m')},
            {'by': 'words', 'part': CASE
                WHEN i.statement_words < 50 THEN '0-49'
                WHEN i.statement_words < 100 THEN '50-99'
                WHEN i.statement_words < 200 THEN '100-199'
                WHEN i.statement_words < 400 THEN '200-399'
                WHEN i.statement_words >= 400 THEN '400+'
            END}
        ], recursive := true)
    FROM used_instance AS t
    LEFT JOIN instance_fact AS i ON i.instance_key = t.instance_key
)
SELECT
    m.snapshot, p."by", p.part, m.method, m.model,
    count(*) FILTER (m.measured) AS n,
    count(*) FILTER (NOT m.measured) AS unmeasured,
    count(*) FILTER (m.solved) AS solved,
    round(100.0 * count(*) FILTER (m.solved) / nullif(n, 0), 1) AS S,
    round(100 * wilson_low(count(*) FILTER (m.solved), n), 1) AS S_low,
    round(100 * wilson_high(count(*) FILTER (m.solved), n), 1) AS S_high,
    robust_share(count(*) FILTER (m.robust), count(*) FILTER (m.solved AND m.robust IS NULL), n) AS S_robust
FROM method_instance(for_grader, for_policy) AS m
JOIN property AS p ON p.snapshot = m.snapshot AND p.instance_id = m.instance_id
WHERE p.part IS NOT NULL
GROUP BY m.snapshot, p."by", p.part, m.method, m.model
ORDER BY m.snapshot, p."by", len(p.part) * (p."by" = 'words')::INT, p.part, m.method, m.model;
