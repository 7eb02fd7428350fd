-- Where do a method's candidates come from, and how much of its score comes from each kind of source?
--
-- One row per snapshot, method, model and provenance, sample 0.
-- provenance  `verified`: generated here; `self_reported`: from a predictions file; `oracle`: made from the golden side
-- candidates  candidates of this kind
-- solved      by the grader `paper` under `tests-only`
-- sources     the files
-- needs: counted_candidate, method_instance
CREATE OR REPLACE VIEW provenance AS
SELECT
    c.snapshot, c.method, c.model, c.provenance,
    count(*) AS candidates,
    count(*) FILTER (m.solved) AS solved,
    list_sort(list(DISTINCT regexp_replace(c.source, ':[0-9]+$', ''))) AS sources
FROM counted_candidate AS c
LEFT JOIN method_instance('paper', 'tests-only') AS m ON m.snapshot = c.snapshot AND m.candidate_id = c.candidate_id
WHERE c.sample = 0
GROUP BY c.snapshot, c.method, c.model, c.provenance
ORDER BY c.snapshot, c.method, c.model, c.provenance;
