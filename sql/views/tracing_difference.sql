-- Which cases have another outcome with tracing, on the same suite, code state, environment and sandbox?
--
-- Tracing must never change a verdict, so every row is a defect or a flaky case (design: coverage). Cases whose ids
-- differ between processes are compared by place (`case_pair`).
-- traced, untraced  outcomes, `missing` where that run has no such case
-- untraced_run_key  the run without tracing; a golden suite runs without probes, a candidate's suite with the same
--                   probes
-- kept: beside the runs
-- needs: sandbox_run, case_pair, case_outcome
CREATE OR REPLACE VIEW tracing_difference AS
WITH pair AS (
    SELECT instance_key, suite_ref, code_state, run_key, traced_run_key
    FROM sandbox_run
    WHERE tracer = 'none' AND traced_run_key IS NOT NULL
),
cell AS (
    SELECT p.*, o.case_id, o.outcome AS untraced, NULL AS traced
    FROM pair AS p JOIN case_outcome AS o ON o.run_key = p.run_key
    UNION ALL
    SELECT p.*, coalesce(c.other_case, o.case_id), NULL, o.outcome
    FROM pair AS p
    JOIN case_outcome AS o ON o.run_key = p.traced_run_key
    LEFT JOIN case_pair AS c ON c.run_key = o.run_key AND c.case_id = o.case_id AND c.other_run = p.run_key
)
SELECT
    instance_key, suite_ref, code_state, case_id,
    coalesce(min(traced), 'missing') AS traced,
    coalesce(min(untraced), 'missing') AS untraced,
    traced_run_key, run_key AS untraced_run_key
FROM cell
GROUP BY instance_key, suite_ref, code_state, case_id, traced_run_key, run_key
HAVING min(traced) IS DISTINCT FROM min(untraced);
