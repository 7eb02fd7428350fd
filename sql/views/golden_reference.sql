-- Do the golden tests of each instance behave here as the source's lists state?
--
-- One row per instance of a snapshot that has lists, withdrawn ones included; `instance_reference` excludes them.
-- `golden_case` matches the names.
-- Artefacts are names that only a log parser produces. One kind is a case that the parser calls failing because it lost
-- the line (`golden_case.swallowed`, FAIL_TO_PASS only).
-- The other kind is pytest's progress mark in place of a test, unless a case has that name: `[100%]`, or `[` from `[
-- 50%]`.
-- measured                  both golden runs exist; otherwise all columns below are null
-- f2p_ok                    every FAIL_TO_PASS case passes after and did not pass before, artefacts excepted
-- p2p_ok                    every PASS_TO_PASS case passes after, artefacts excepted
-- f2p_exact                 f2p_ok, no artefact, and no other case goes from not passing to passing
-- f2p_misses, p2p_misses    names of the cases that do not behave so
-- f2p_artefacts, p2p_artefacts  names that only a log parser produces
-- kept: beside the runs
-- needs: task_instance, golden_suite, settled_run, golden_case
CREATE OR REPLACE VIEW golden_reference AS
WITH ready AS (
    SELECT g.instance_key, count(DISTINCT r.code_state) = 2 AS measured
    FROM golden_suite AS g
    LEFT JOIN settled_run AS r ON r.instance_key = g.instance_key AND r.suite_ref = g.suite_id
    GROUP BY g.instance_key
),
called AS (
    SELECT
        instance_key, unnest(names) AS name,
        after = 'passed' AS passes,
        after = 'passed' AND before <> 'passed' AS turns,
        swallowed
    FROM golden_case
),
known AS (
    SELECT
        instance_key,
        list(DISTINCT name) AS names,
        coalesce(list(DISTINCT name) FILTER (passes), []) AS passing,
        coalesce(list(DISTINCT name) FILTER (turns), []) AS turning,
        coalesce(list(DISTINCT name) FILTER (swallowed), []) AS swallowed
    FROM called
    GROUP BY instance_key
),
listed AS (
    SELECT
        t.snapshot, t.instance_id, t.instance_key, t.FAIL_TO_PASS, t.PASS_TO_PASS,
        coalesce(k.passing, []) AS passing, coalesce(k.turning, []) AS turning, coalesce(k.swallowed, []) AS swallowed,
        [name for name in (t.FAIL_TO_PASS || coalesce(t.PASS_TO_PASS, []))
         if regexp_full_match(name, '\[( *\d+%\])?') AND NOT list_contains(coalesce(k.names, []), name)] AS marks
    FROM task_instance AS t
    LEFT JOIN known AS k ON k.instance_key = t.instance_key
    WHERE t.FAIL_TO_PASS IS NOT NULL
),
extra AS (
    SELECT t.snapshot, t.instance_id, count(*) AS cases
    FROM task_instance AS t JOIN golden_case AS g ON g.instance_key = t.instance_key
    WHERE g.after = 'passed' AND g.before <> 'passed' AND NOT list_has_any(g.names, t.FAIL_TO_PASS)
    GROUP BY t.snapshot, t.instance_id
),
missed AS (
    SELECT
        t.snapshot, t.instance_id, t.instance_key,
        coalesce(r.measured, false) AS measured,
        list_sort([name for name in t.FAIL_TO_PASS
                   if NOT list_contains(t.turning || t.swallowed || t.marks, name)]) AS f2p,
        list_sort([name for name in t.FAIL_TO_PASS
                   if list_contains(t.swallowed || t.marks, name) AND NOT list_contains(t.turning, name)]) AS f2p_marks,
        list_sort([name for name in t.PASS_TO_PASS if NOT list_contains(t.passing || t.marks, name)]) AS p2p,
        list_sort([name for name in t.PASS_TO_PASS if list_contains(t.marks, name)]) AS p2p_marks,
        coalesce(e.cases, 0) AS extra
    FROM listed AS t
    LEFT JOIN ready AS r ON r.instance_key = t.instance_key
    LEFT JOIN extra AS e ON e.snapshot = t.snapshot AND e.instance_id = t.instance_id
)
SELECT
    snapshot, instance_id, instance_key, measured,
    CASE WHEN measured THEN len(f2p) = 0 END AS f2p_ok,
    CASE WHEN measured THEN len(p2p) = 0 END AS p2p_ok,
    CASE WHEN measured THEN len(f2p) = 0 AND len(f2p_marks) = 0 AND extra = 0 END AS f2p_exact,
    CASE WHEN measured THEN f2p END AS f2p_misses,
    CASE WHEN measured THEN f2p_marks END AS f2p_artefacts,
    CASE WHEN measured THEN p2p END AS p2p_misses,
    CASE WHEN measured THEN p2p_marks END AS p2p_artefacts
FROM missed;
