-- How large are the instances of a snapshot?
--
-- The paper's Table 1. One row per snapshot and fact, in the order of the paper.
-- Existing cases are those of suite `none` in the golden files. Golden cases are those of the golden suite before and
-- after the fix in the latest environment. `golden F2P` counts cases that turn, cases missing before included.
-- step       position of the row
-- fact       what is counted
-- instances  instances with a known value
-- mean, max  over these
-- needs: used_instance, instance_fact, golden_case, base_case
CREATE OR REPLACE VIEW table1 AS
WITH golden AS (
    SELECT
        instance_key,
        count(*) AS cases,
        count(*) FILTER (before <> 'passed' AND after = 'passed') AS f2p,
        count(*) FILTER (before = 'passed' AND after = 'passed') AS p2p
    FROM golden_case
    GROUP BY instance_key
),
fact AS (
    SELECT
        t.snapshot,
        unnest([
            {'step': 1, 'fact': 'statement words', 'number': i.statement_words},
            {'step': 2, 'fact': 'source files', 'number': i.source_files},
            {'step': 3, 'fact': 'source lines', 'number': i.source_lines},
            {'step': 4, 'fact': 'existing cases', 'number': e.cases},
            {'step': 5, 'fact': 'golden cases', 'number': g.cases},
            {'step': 6, 'fact': 'golden F2P', 'number': g.f2p},
            {'step': 7, 'fact': 'golden P2P', 'number': g.p2p},
            {'step': 8, 'fact': 'patch files', 'number': i.patch_files},
            {'step': 9, 'fact': 'patch lines', 'number': i.patch_added + i.patch_removed},
            {'step': 10, 'fact': 'test files edited', 'number': i.test_files},
            {'step': 11, 'fact': 'test lines edited', 'number': i.test_added + i.test_removed}
        ], recursive := true)
    FROM used_instance AS t
    LEFT JOIN instance_fact AS i ON i.instance_key = t.instance_key
    LEFT JOIN base_case AS e ON e.instance_key = t.instance_key
    LEFT JOIN golden AS g ON g.instance_key = t.instance_key
)
SELECT snapshot, step, fact, count(number) AS instances, round(avg(number), 1) AS mean, max(number) AS max
FROM fact
GROUP BY snapshot, step, fact
ORDER BY snapshot, step;
