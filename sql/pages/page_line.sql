-- Which changed lines does each candidate execute?
--
-- FROM page_line('2026-11', false). One row per counted candidate with traced runs, and path and side of the golden
-- patch.
-- Side `before` has the lines that the patch removes, `after` the lines that it adds. Embargoed instances have no row,
-- unless `with_golden`.
-- executable  lines that count for change coverage as the paper defines it
-- hit         those of them to which T adds an execution
-- needs: counted_candidate, counted_policy, trace_line, held_out
CREATE OR REPLACE MACRO page_line(for_snapshot, with_golden) AS TABLE
SELECT
    c.instance_id, c.candidate_id, l.path, l.side,
    coalesce(list(l.line ORDER BY l.line) FILTER (l.golden + l.reference > 0), []) AS executable,
    coalesce(list(l.line ORDER BY l.line) FILTER (
        l.golden + l.reference > 0 AND (l.t_hit OR (l.candidate_outside AND l.none = 0 AND l.reference = 0))
    ), []) AS hit
FROM counted_candidate AS c
JOIN counted_policy('tests-only') AS p ON p.candidate_id = c.candidate_id
JOIN held_out AS o ON o.snapshot = c.snapshot AND o.instance_id = c.instance_id
JOIN trace_line AS l ON l.candidate_id = c.candidate_id AND l.policy = p.policy
WHERE c.snapshot = for_snapshot AND (with_golden OR NOT o.held_out)
GROUP BY c.instance_id, c.candidate_id, l.path, l.side
ORDER BY c.instance_id, c.candidate_id, l.path, l.side DESC;
