-- How often did a run execute each watched line, counted in contexts?
--
-- One row per (run_key, path, line) that the run executed. contexts: cases that did, plus one if it was executed
-- outside every case; outside: whether it was (import, collection).
-- needs: line_hit
CREATE OR REPLACE VIEW line_context AS
SELECT
    run_key, path, line,
    count(DISTINCT coalesce(case_id, '')) AS contexts,
    bool_or(case_id IS NULL) AS outside
FROM (SELECT run_key, path, case_id, unnest(lines) AS line FROM line_hit)
GROUP BY run_key, path, line;
