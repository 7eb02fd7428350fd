-- How often did a run execute each watched line, in contexts and in executions?
--
-- One row per (run_key, path, line) that the run executed.
-- contexts    number of cases that executed the line, plus one if it was executed outside every case
-- outside     it was executed outside every case (import, collection)
-- executions  number of executions; null where a context has no count
-- line        line number in the run's code state
-- needs: line_hit
CREATE OR REPLACE VIEW line_context AS
SELECT
    run_key, path, line,
    count(DISTINCT coalesce(case_id, '')) AS contexts,
    bool_or(case_id IS NULL) AS outside,
    CASE WHEN bool_and(times IS NOT NULL) THEN sum(times) END AS executions
FROM (SELECT run_key, path, case_id, unnest(lines) AS line, unnest(counts) AS times FROM line_hit)
GROUP BY run_key, path, line;
