-- How many decoys does each instance have?
--
-- One row per instance of a snapshot for which decoys were proposed.
-- proposed       decoys that were made
-- tried          those that golden tests ran on
-- valid          those that fix nothing
-- quiet          valid ones on which all other golden cases behave as with the golden patch
-- partial_fixes  those that fix a part of the issue, so they are no decoys
-- chosen         those that solved candidates run on, at most three
-- enough         there are at least two valid ones; with fewer, a robust success is weaker evidence
-- kinds          kinds of the valid ones, sorted
-- needs: task_instance, decoy_status, chosen_decoy
CREATE OR REPLACE VIEW decoy_count AS
SELECT
    t.snapshot, t.instance_id, t.instance_key,
    count(*) AS proposed,
    count(*) FILTER (s.class <> 'unmeasured') AS tried,
    count(*) FILTER (s.class = 'decoy') AS valid,
    count(*) FILTER (s.class = 'decoy' AND s.quiet) AS quiet,
    count(*) FILTER (s.class = 'partial-fix') AS partial_fixes,
    count(c.fix_id) AS chosen,
    valid >= 2 AS enough,
    coalesce(list_sort(list(DISTINCT s.kind) FILTER (s.class = 'decoy')), []) AS kinds
FROM task_instance AS t
JOIN decoy_status AS s ON s.instance_key = t.instance_key
LEFT JOIN chosen_decoy AS c ON c.fix_id = s.fix_id
GROUP BY t.snapshot, t.instance_id, t.instance_key
ORDER BY t.snapshot, t.instance_id;
