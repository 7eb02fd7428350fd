-- Which case of one run corresponds to which case of another run of the same suite, where their ids differ?
--
-- An id can contain a value that differs between processes: a uuid, a time, an address, a process id, a temporary
-- folder.
-- Cases with equal ids are the same case and have no row.
-- Other cases are paired by their place among the cases of their function. This needs an equal number of cases in both
-- runs, and neither run has the other's id.
-- One row per (run_key, case_id, other_run) where the other run also has unpaired cases of the function.
-- other_case  the case of the other run; null where it is ambiguous
-- pair        `place`, or `ambiguous`: the runs differ in the number of cases, or the case at the place is in both runs
-- other_run   the run to compare with: same suite, any environment, code state and variant
-- kept: beside the runs
-- needs: current_run, case_outcome
CREATE OR REPLACE VIEW case_pair AS
WITH suite_run AS (
    SELECT run_key, instance_key, CASE WHEN suite_kind = 'none' THEN files_key ELSE suite_id END AS suite_ref
    FROM current_run
),
numbered AS (
    SELECT r.instance_key, r.suite_ref, r.run_key, o.path, o.qualname, o.case_id, o.place
    FROM suite_run AS r JOIN case_outcome AS o ON o.run_key = r.run_key
    WHERE o.place IS NOT NULL
),
-- If every run of a suite has every id of a function, the function needs no pairing.
loose AS (
    SELECT instance_key, suite_ref, path, qualname
    FROM numbered
    GROUP BY instance_key, suite_ref, path, qualname
    HAVING count(*) <> count(DISTINCT case_id) * count(DISTINCT run_key)
),
cell AS MATERIALIZED (
    SELECT n.*, count(*) OVER (PARTITION BY n.run_key, n.path, n.qualname) AS cases
    FROM numbered AS n JOIN loose USING (instance_key, suite_ref, path, qualname)
),
side AS (
    SELECT DISTINCT instance_key, suite_ref, path, qualname, run_key, cases FROM cell
),
lone AS MATERIALIZED (
    SELECT a.*, b.run_key AS other_run, b.cases AS other_cases
    FROM cell AS a
    JOIN side AS b USING (instance_key, suite_ref, path, qualname)
    ANTI JOIN cell AS x ON x.run_key = b.run_key AND x.case_id = a.case_id
    WHERE b.run_key <> a.run_key
)
SELECT
    a.instance_key, a.run_key, a.case_id, a.other_run, b.case_id AS other_case,
    CASE WHEN b.case_id IS NULL THEN 'ambiguous' ELSE 'place' END AS pair
FROM lone AS a
LEFT JOIN lone AS b
    ON b.run_key = a.other_run AND b.other_run = a.run_key AND b.path = a.path AND b.qualname = a.qualname
    AND b.place = a.place AND b.cases = a.cases
SEMI JOIN lone AS z
    ON z.run_key = a.other_run AND z.other_run = a.run_key AND z.path = a.path AND z.qualname = a.qualname;
