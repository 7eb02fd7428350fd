-- How many search results does each model ask for?
--
-- The localization supplement's S.1.1: requests of BM25 by k, for each number of files that was asked for; the model
-- chooses between 10, 20 and 30.
-- k_10, k_20, k_30  retrievals that ask for so many results
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
