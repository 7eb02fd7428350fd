-- How many search results does each model request?
--
-- Section S.1.1 of the localization supplement: BM25 requests by k, per requested number of files (top_n). The model
-- chooses between 10, 20 and 30.
-- k_10, k_20, k_30  requests with this k
-- needs: agent_step
CREATE OR REPLACE VIEW localization_k AS
SELECT
    snapshot,
    model,
    variant,
    with_tests,
    top_n,
    count(*) FILTER (k = 10) AS k_10,
    count(*) FILTER (k = 20) AS k_20,
    count(*) FILTER (k = 30) AS k_30
FROM agent_step
WHERE kind = 'tool' AND tool = 'bm25'
GROUP BY ALL
ORDER BY ALL;
