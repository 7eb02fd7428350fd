-- Which cases have another outcome in another sandbox, on the same suite, code state and environment?
--
-- One row per case and pair of sandboxes that both ran the suite. An outcome is `missing` where that run has no such
-- case. Equal sandboxes give no row.
-- Cases whose ids differ between processes are compared by place. A row with a null case_id compares the run status
-- instead.
-- sandbox_a, sandbox_b  the two sandboxes, in alphabetical order
-- outcome_a, outcome_b  of the case in each
-- status_a, status_b    of the run in each
-- run_a, run_b          keys of these runs
-- kept: beside the runs
-- needs: sandbox_run, case_pair, case_outcome
CREATE OR REPLACE VIEW sandbox_difference AS
WITH pair AS (
    SELECT
        a.instance_key, a.suite_ref, a.suite_kind, a.code_state, a.env_id,
        a.sandbox AS sandbox_a, b.sandbox AS sandbox_b, a.run_key AS run_a, b.run_key AS run_b,
        a.status AS status_a, b.status AS status_b
    FROM sandbox_run AS a
    JOIN sandbox_run AS b
        ON b.instance_key = a.instance_key AND b.suite_ref = a.suite_ref AND b.suite_kind = a.suite_kind
        AND b.code_state = a.code_state AND b.env_id = a.env_id AND a.sandbox < b.sandbox
),
cell AS (
    SELECT p.*, o.case_id, o.outcome AS a, NULL AS b
    FROM pair AS p JOIN case_outcome AS o ON o.run_key = p.run_a
    UNION ALL
    SELECT p.*, coalesce(c.other_case, o.case_id), NULL, o.outcome
    FROM pair AS p
    JOIN case_outcome AS o ON o.run_key = p.run_b
    LEFT JOIN case_pair AS c ON c.run_key = o.run_key AND c.case_id = o.case_id AND c.other_run = p.run_a
    UNION ALL
    SELECT *, NULL, status_a, status_b FROM pair
)
SELECT
    instance_key, suite_ref, suite_kind, code_state, env_id, case_id, sandbox_a, sandbox_b,
    coalesce(min(a), 'missing') AS outcome_a, coalesce(min(b), 'missing') AS outcome_b,
    status_a, status_b, run_a, run_b
FROM cell
GROUP BY ALL
HAVING min(a) IS DISTINCT FROM min(b);
