-- How much does it help a method to get the test file, a fix, or the files that the fix changes?
--
-- The paper's Table 5. One row per snapshot, method, model and extra input. It covers instances on which this method
-- and model was measured with every input. Sample 0, grader `paper`, policy `tests-only`. ΔC is over instances that
-- have one.
-- method     with the parameters of its experiment: `zero_shot_plus[temperature=0.7]` is compared with itself
-- test_file  whether the method got the name of the golden test file
-- files      `retrieved` or `modified` (the files that the golden patch changes)
-- patch      `golden`, `incorrect`, or null for none
-- n          instances that count
-- W, S, F_X  in % of n, as in `table2`
-- dc_all     mean change coverage in %
-- needs: labelled_generation, method_instance, change_coverage
CREATE OR REPLACE VIEW table5 AS
WITH variant AS (
    SELECT DISTINCT snapshot, coalesce(nullif(variant, ''), method) AS method, model, label, given
    FROM labelled_generation
    WHERE mode = 'unit_test'
),
cell AS (
    SELECT v.snapshot, v.method, v.model, v.label, v.given, m.* EXCLUDE (snapshot, method, model), d.delta_c
    FROM variant AS v
    JOIN method_instance('paper', 'tests-only') AS m
        ON m.snapshot = v.snapshot AND m.method = v.label AND m.model = v.model
    LEFT JOIN change_coverage AS d
        ON d.candidate_id = m.candidate_id AND d.policy = m.policy AND d.definition = 'paper' AND d.measured
    WHERE m.measured AND m.candidate_id IS NOT NULL
),
shared AS (
    SELECT c.*
    FROM cell AS c
    QUALIFY count(*) OVER (PARTITION BY c.snapshot, c.method, c.model, c.instance_id) = (
        SELECT count(*)
        FROM variant AS v
        WHERE v.snapshot = c.snapshot AND v.method = c.method AND v.model = c.model
    )
)
SELECT
    snapshot, method, model,
    list_contains(given, 'test-file') AS test_file,
    CASE WHEN list_contains(given, 'modified-files') THEN 'modified' ELSE 'retrieved' END AS files,
    CASE
        WHEN list_contains(given, 'golden-patch') THEN 'golden'
        WHEN list_contains(given, 'incorrect-patch') THEN 'incorrect'
    END AS patch,
    count(*) AS n,
    round(100.0 * count(*) FILTER (well_formed) / count(*), 1) AS W,
    round(100.0 * count(*) FILTER (solved) / count(*), 1) AS S,
    round(100.0 * count(*) FILTER (fail_to_any) / count(*), 1) AS F_X,
    round(100 * avg(delta_c), 1) AS dc_all
FROM shared
GROUP BY snapshot, method, model, given
ORDER BY snapshot, method, model, test_file, patch NULLS FIRST, files;
