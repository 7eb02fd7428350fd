-- How accurately do methods locate bugs with a given retriever? `FROM localization_accuracy_by('code')`.
--
-- One row per snapshot, method, model, with_tests and top_n; sample 0. MAP and MRR are over the stored depth, `top_n`.
-- n                         localized instances
-- unmeasured                instances with a golden file whose localization timed out or does not exist
-- any_1, any_5, any_10, any_30  in %, some golden file is among the first 1, 5, 10 and 30
-- all_1, all_5, all_10      in %, every golden file is (accuracy@k of the literature)
-- recall_1, recall_5, recall_10, recall_30  in %, mean share of the golden files that are
-- map                       mean average precision, 0 to 1
-- mrr                       mean reciprocal rank, 0 to 1
-- needs: localization_score, golden_file, used_instance
CREATE OR REPLACE MACRO localization_accuracy_by(for_variant) AS TABLE
WITH asked AS (
    SELECT DISTINCT snapshot, instance_key
    FROM used_instance
    SEMI JOIN golden_file USING (instance_key)
),
size AS (
    SELECT snapshot, count(*) AS instances FROM asked GROUP BY ALL
)
SELECT
    snapshot,
    method,
    nullif(model, '') AS model,
    with_tests,
    top_n,
    count(*) AS n,
    any_value(instances) - count(*) AS unmeasured,
    round(100 * avg((found_1 > 0)::INT), 1) AS any_1,
    round(100 * avg((found_5 > 0)::INT), 1) AS any_5,
    round(100 * avg((found_10 > 0)::INT), 1) AS any_10,
    round(100 * avg((found_30 > 0)::INT), 1) AS any_30,
    round(100 * avg((found_1 = golden)::INT), 1) AS all_1,
    round(100 * avg((found_5 = golden)::INT), 1) AS all_5,
    round(100 * avg((found_10 = golden)::INT), 1) AS all_10,
    round(100 * avg(found_1 / golden), 1) AS recall_1,
    round(100 * avg(found_5 / golden), 1) AS recall_5,
    round(100 * avg(found_10 / golden), 1) AS recall_10,
    round(100 * avg(found_30 / golden), 1) AS recall_30,
    round(avg(average_precision), 4) AS map,
    round(avg(reciprocal_rank), 4) AS mrr
FROM localization_score
JOIN asked USING (instance_key)
JOIN size USING (snapshot)
WHERE variant = for_variant AND sample = 0
GROUP BY snapshot, method, model, with_tests, top_n;
