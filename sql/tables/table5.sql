-- What does it help a method to be told the test file, a fix, or the files that it changes?
--
-- The paper's Table 5. Per snapshot, method, model and what was told: test_file (whether the file to change was
-- named), files (`retrieved` or `modified`), patch (`golden`, `incorrect`, null for none); n and W, S, F_X, dc_all in
-- % over the instances on which this method and model was tried and measured with each of these. Sample 0, grader
-- `paper`, policy `tests-only`. ΔC is over instances that have one.
-- method     with the parameters of its experiment: `zero_shot_plus[temperature=0.7]` is held against itself
-- test_file  what the method was told of the golden test file
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
