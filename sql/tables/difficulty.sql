-- How many methods solve each instance?
--
-- One row per snapshot and instance, with facts about the instance. Grader `paper`, policy `tests-only`, sample 0,
-- without the controls.
-- methods      methods that are measured on the instance
-- solved       methods that solve it
-- share        methods that solve it, in % of those that are measured on it
-- failing      methods with a test that fails before the fix (F→X)
-- golden       whether its golden tests are solved
-- solved_by    names of the methods that solve it
-- patch_lines  lines that the golden patch adds or removes
-- needs: method_instance, used_instance, instance_fact
CREATE OR REPLACE VIEW difficulty AS
WITH told AS (
    SELECT
        snapshot, instance_id,
        count(*) FILTER (measured AND method NOT IN ('golden', 'nop')) AS methods,
        count(*) FILTER (solved AND method NOT IN ('golden', 'nop')) AS solved,
        count(*) FILTER (fail_to_any AND method NOT IN ('golden', 'nop')) AS failing,
        bool_or(solved) FILTER (method = 'golden') AS golden,
        coalesce(list(name ORDER BY name) FILTER (solved AND method NOT IN ('golden', 'nop')), []) AS solved_by
    FROM method_instance('paper', 'tests-only')
    GROUP BY snapshot, instance_id
)
SELECT
    m.snapshot, m.instance_id, t.repo, t.created_at,
    m.methods, m.solved, round(100.0 * m.solved / nullif(m.methods, 0), 1) AS share, m.failing, m.golden, m.solved_by,
    i.statement_words, i.patch_files, i.patch_added + i.patch_removed AS patch_lines
FROM told AS m
JOIN used_instance AS t ON t.snapshot = m.snapshot AND t.instance_id = m.instance_id
LEFT JOIN instance_fact AS i ON i.instance_key = t.instance_key
ORDER BY m.snapshot, share, m.failing, m.instance_id;
