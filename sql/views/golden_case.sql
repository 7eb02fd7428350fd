-- What the golden tests of an instance do, case by case.
--
-- One row per (instance_key, case_id) in the latest environment: before, after (outcomes, `missing` where there is no
-- row), and names: every way in which the source's lists may call the case: its label, each line of the label (Django
-- prints a docstring on a line of its own), its label up to the first space where it is a pytest id (the source's
-- parser cut there), with a path in its parameters shortened to the last part (the source's parser did), and
-- `test_y (app.Case.test_y)`, which is how unittest prints `test_y (app.Case)` from Python 3.11 on.
-- swallowed: it passes in both states, but the case just before it failed on `before`. Django's text output of some
-- versions prints nothing after the name of a failed case, so the next case's line is lost to a log parser, and the
-- source's lists call that case failing.
-- before, after  outcome of the case in the golden suite on each code state
-- names          those under which the source's lists may have it
-- kept: beside the runs
-- needs: golden_suite, settled_run, case_outcome
CREATE OR REPLACE VIEW golden_case AS
WITH cell AS (
    SELECT
        g.instance_key, r.code_state, o.case_id, o.label, o.outcome,
        lag(o.outcome) OVER (PARTITION BY o.run_key ORDER BY o.position) AS previous
    FROM golden_suite AS g
    JOIN settled_run AS r ON r.instance_key = g.instance_key AND r.suite_ref = g.suite_id
    JOIN case_outcome AS o ON o.run_key = r.run_key
),
one AS (
    SELECT
        instance_key, case_id,
        coalesce(max_by(label, code_state) FILTER (label <> ''), '') AS label,
        coalesce(min(outcome) FILTER (code_state = 'before'), 'missing') AS before,
        coalesce(min(outcome) FILTER (code_state = 'after'), 'missing') AS after,
        min(previous) FILTER (code_state = 'before') AS previous
    FROM cell
    GROUP BY instance_key, case_id
)
SELECT
    instance_key, case_id, before, after,
    list_distinct(
        [label] || [trim(line) for line in string_split(label, chr(10))]
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
