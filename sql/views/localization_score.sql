-- At which rank does each localization place the files that the golden patch changes?
--
-- One row per counted localization that did not time out, for instances with a golden file. An aborted localization
-- ranks nothing.
-- golden                    number of files to find
-- first_rank                best rank of any golden file; null where none was ranked
-- found_1, found_5, found_10, found_30  golden files among the first 1, 5, 10 and 30
-- average_precision         mean over the golden files of the precision at their ranks, 0 for a file without a rank
-- reciprocal_rank           1 / first_rank, 0 where none was ranked
-- needs: counted_localization, localization, golden_file
CREATE OR REPLACE VIEW localization_score AS
WITH size AS (
    SELECT instance_key, count(*) AS golden FROM golden_file GROUP BY ALL
),
hit AS (
    SELECT
        localization_id,
        rank,
        row_number() OVER (PARTITION BY localization_id ORDER BY rank) / rank AS precision_at
    FROM localization
    SEMI JOIN golden_file USING (instance_key, path)
),
found AS (
    SELECT
        localization_id,
        min(rank) AS first_rank,
        sum(precision_at) AS precisions,
        count(*) FILTER (rank <= 1) AS found_1,
        count(*) FILTER (rank <= 5) AS found_5,
        count(*) FILTER (rank <= 10) AS found_10,
        count(*) FILTER (rank <= 30) AS found_30
    FROM hit
    GROUP BY ALL
)
SELECT
    localization_id,
    instance_key,
    method,
    variant,
    with_tests,
    model,
    sample,
    top_n,
    golden,
    first_rank,
    coalesce(found_1, 0) AS found_1,
    coalesce(found_5, 0) AS found_5,
    coalesce(found_10, 0) AS found_10,
    coalesce(found_30, 0) AS found_30,
    coalesce(precisions, 0) / golden AS average_precision,
    coalesce(1 / first_rank, 0) AS reciprocal_rank
FROM counted_localization
JOIN size USING (instance_key)
LEFT JOIN found USING (localization_id)
WHERE status <> 'timeout';
