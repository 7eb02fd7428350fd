-- How many decoys of each kind are valid, and how many successes accept one?
--
-- One row per snapshot and kind, over the decoys that golden tests ran on.
-- instances        instances with a valid decoy of this kind
-- tried, valid     decoys that golden tests ran on, and those that fix nothing
-- partial_fixes    those that fix a part of the issue
-- unclear          those that may fix a part
-- fixes, broken    those that fix all of it, and those that cannot be collected
-- pairs, accepted  pairs of a solved candidate (grader `paper`, without golden) and a chosen decoy, and pairs in which
--                  the candidate accepts the decoy
-- needs: task_instance, decoy_status, decoy_rejection, candidate_result
CREATE OR REPLACE VIEW decoy_kind AS
WITH met AS (
    SELECT r.snapshot, d.kind, count(*) AS pairs, count(*) FILTER (NOT d.rejected) AS accepted
    FROM decoy_rejection AS d
    JOIN candidate_result AS r
        ON r.candidate_id = d.candidate_id AND r.policy = d.policy AND r.grader = 'paper' AND r.solved
    WHERE r.method <> 'golden' AND d.rejected IS NOT NULL
    GROUP BY r.snapshot, d.kind
)
SELECT
    t.snapshot, s.kind,
    count(DISTINCT s.instance_key) FILTER (s.class = 'decoy') AS instances,
    count(*) AS tried,
    count(*) FILTER (s.class = 'decoy') AS valid,
    count(*) FILTER (s.class = 'partial-fix') AS partial_fixes,
    count(*) FILTER (s.class = 'unclear') AS unclear,
    count(*) FILTER (s.class = 'fix') AS fixes,
    count(*) FILTER (s.class = 'broken') AS broken,
    coalesce(any_value(m.pairs), 0) AS pairs,
    coalesce(any_value(m.accepted), 0) AS accepted
FROM task_instance AS t
JOIN decoy_status AS s ON s.instance_key = t.instance_key AND s.class <> 'unmeasured'
LEFT JOIN met AS m ON m.snapshot = t.snapshot AND m.kind = s.kind
GROUP BY t.snapshot, s.kind
ORDER BY t.snapshot, valid DESC, s.kind;
