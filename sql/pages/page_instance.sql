-- Which data does the page of each instance show?
--
-- FROM page_instance('2026-11', false). One row per instance of the snapshot, by id. Columns of `instance_health` and
-- `task_instance`.
-- For an embargoed instance, the golden patch, the golden tests and all columns that reveal them are null, unless
-- `with_golden`.
-- doubts                flag and detail of each `quality_flag`
-- methods               entries of the leaderboard without controls
-- solved_by, robust_by  methods that solve it, and that have a robust success (null where a success is not fully
--                       checked)
-- unmeasured            methods without a verdict
-- decoys                valid decoys; null where none was proposed
-- decoys_enough         there are at least two valid decoys
-- needs: instance_health, task_instance, quality_flag, held_out, method_instance, decoy_count
CREATE OR REPLACE MACRO page_instance(for_snapshot, with_golden) AS TABLE
WITH result AS (
    SELECT
        instance_id,
        count(*) AS methods,
        count(*) FILTER (solved) AS solved_by,
        CASE WHEN count(*) FILTER (solved AND robust IS NULL) = 0 THEN count(*) FILTER (robust) END AS robust_by,
        count(*) FILTER (NOT measured) AS unmeasured
    FROM method_instance('paper', 'tests-only')
    WHERE snapshot = for_snapshot AND method NOT IN ('golden', 'nop')
    GROUP BY instance_id
),
doubt AS (
    SELECT instance_id, list({'flag': flag, 'detail': detail} ORDER BY flag, detail) AS doubts
    FROM quality_flag
    WHERE snapshot = for_snapshot
    GROUP BY instance_id
)
SELECT
    h.instance_id, h.repo, h.created_at, h.health, h.flags, h.flake_upper, h.validations, h.validated_at,
    h.statement_words, h.source_files, h.source_lines,
    o.held_out AND NOT with_golden AS withheld,
    CASE WHEN NOT withheld THEN h.detail END AS detail,
    CASE WHEN NOT withheld THEN h.f2p END AS f2p,
    CASE WHEN NOT withheld THEN h.p2p END AS p2p,
    CASE WHEN NOT withheld THEN h.quarantined END AS quarantined,
    CASE WHEN NOT withheld THEN h.patch_files END AS patch_files,
    CASE WHEN NOT withheld THEN h.patch_lines END AS patch_lines,
    CASE WHEN NOT withheld THEN t.patch END AS patch,
    CASE WHEN NOT withheld THEN t.test_patch END AS test_patch,
    t.base_commit, t.version, t.problem_statement,
    coalesce(CASE WHEN NOT withheld THEN d.doubts END, []) AS doubts,
    coalesce(r.methods, 0) AS methods, coalesce(r.solved_by, 0) AS solved_by,
    r.robust_by, coalesce(r.unmeasured, 0) AS unmeasured,
    c.valid AS decoys, c.enough AS decoys_enough
FROM instance_health AS h
JOIN task_instance AS t ON t.snapshot = h.snapshot AND t.instance_id = h.instance_id
JOIN held_out AS o ON o.snapshot = h.snapshot AND o.instance_id = h.instance_id
LEFT JOIN result AS r ON r.instance_id = h.instance_id
LEFT JOIN doubt AS d ON d.instance_id = h.instance_id
LEFT JOIN decoy_count AS c ON c.snapshot = h.snapshot AND c.instance_id = h.instance_id
WHERE h.snapshot = for_snapshot
ORDER BY h.instance_id;
