-- What is the outcome of each golden case of an instance before and after the fix?
--
-- One row per (instance_key, case_id), in the latest environment.
-- before, after  outcome of the case in the golden suite on each code state; `missing` where there is no row
-- pair           `id`, `place` or `ambiguous`: how the two runs' cases were paired (`case_pair`)
-- after_run      the run on the fixed code
-- after_id       id of the case in that run; null where that run has no such case
-- names          every name under which the source's lists may contain the case. The label, and each line of it (Django
--                prints a docstring on its own line). For a pytest id, also the label up to the first space, and with a
--                path in its parameters cut to the last part. The source's parser cut both. Also `test_y
--                (app.Case.test_y)`, which unittest prints for `test_y (app.Case)` from Python 3.11 on. For a case
--                whose id differs between processes, also `path::function[#place]`, its name in this project's lists
-- swallowed      it passes in both states, but the case just before it failed on `before`. Some Django versions print
--                nothing after the name of a failed case, so a log parser loses the next case's line. The source's
--                lists then call that next case failing
-- kept: beside the runs
-- needs: golden_suite, settled_run, case_pair, case_outcome
CREATE OR REPLACE VIEW golden_case AS
WITH ran AS (
    SELECT
        g.instance_key,
        max(r.run_key) FILTER (r.code_state = 'before') AS before_run,
        max(r.run_key) FILTER (r.code_state = 'after') AS after_run
    FROM golden_suite AS g
    JOIN settled_run AS r ON r.instance_key = g.instance_key AND r.suite_ref = g.suite_id
    GROUP BY g.instance_key
),
side AS (
    SELECT instance_key, after_run, 'before' AS code_state, before_run AS run_key, after_run AS other_run FROM ran
    UNION ALL
    SELECT instance_key, after_run, 'after', after_run, before_run FROM ran
),
cell AS (
    SELECT
        s.instance_key, s.after_run, s.code_state, p.pair,
        o.case_id AS own_id, o.path, o.qualname, o.place, o.label, o.outcome,
        CASE WHEN s.code_state = 'after' THEN coalesce(p.other_case, o.case_id) ELSE o.case_id END AS case_id,
        lag(o.outcome) OVER (PARTITION BY o.run_key ORDER BY o.position) AS previous
    FROM side AS s
    JOIN case_outcome AS o ON o.run_key = s.run_key
    LEFT JOIN case_pair AS p ON p.run_key = s.run_key AND p.case_id = o.case_id AND p.other_run = s.other_run
),
one AS (
    SELECT
        instance_key, case_id,
        coalesce(max_by(label, code_state) FILTER (label <> ''), '') AS label,
        coalesce(min(outcome) FILTER (code_state = 'before'), 'missing') AS before,
        coalesce(min(outcome) FILTER (code_state = 'after'), 'missing') AS after,
        min(previous) FILTER (code_state = 'before') AS previous,
        CASE
            WHEN bool_or(pair = 'ambiguous') THEN 'ambiguous'
            WHEN bool_or(pair = 'place') THEN 'place'
            ELSE 'id'
        END AS pair,
        any_value(after_run) AS after_run,
        min(own_id) FILTER (code_state = 'after') AS after_id,
        min(path || '::' || replace(qualname, '.', '::') || '[#' || place || ']') AS placed
    FROM cell
    GROUP BY instance_key, case_id
)
SELECT
    instance_key, case_id, before, after, pair, after_run, after_id,
    list_distinct(
        CASE WHEN pair = 'place' THEN [placed] ELSE [] END
        || [label] || [trim(line) for line in string_split(label, chr(10))]
        || [regexp_replace(split_part(label, chr(10), 1), '^(\w+) \((.+)\)$', '\1 (\2.\1)')]
        || CASE
            WHEN contains(label, '::') THEN [
                split_part(label, ' ', 1),
                regexp_replace(split_part(label, ' ', 1), '\[/[^/*][^*]*/([^/]*)\]$', '[/\1]')
            ]
            ELSE []
        END
    ) AS names,
    before = 'passed' AND after = 'passed' AND coalesce(previous IN ('failed', 'error'), false)
        AND regexp_matches(label, '^\w+ \(') AS swallowed
FROM one;
