-- Which suites of a snapshot's candidates accept a proposed fix and lack the run of a robustness check?
--
-- The controls are excluded.
-- needs: fix_filter, counted_candidate, submission
CREATE OR REPLACE VIEW fix_suite_to_guard AS
SELECT DISTINCT c.snapshot, s.suite_id
FROM fix_filter AS f
JOIN counted_candidate AS c ON c.candidate_id = f.candidate_id
JOIN submission AS s ON s.candidate_id = f.candidate_id AND s.policy = f.policy
WHERE f.kept AND f.robust IS NULL AND c.method NOT IN ('golden', 'nop');
