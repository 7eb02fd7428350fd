-- Does a method that writes a reproducing test also repair the code?
--
-- One row per snapshot, test method and repair method (SWT-Bench paper, section 5.3, table 6: also `table6`).
-- model                 of the tests
-- repair, repair_model  method and model of the fixes
-- instances             instances on which both were measured
-- tests                 instances with a solved test
-- fixes                 instances with a resolved fix (sample 0)
-- both                  instances with a solved test and a right fix
-- p                     in %, the probability that two independent methods of these sizes overlap at least as much
-- needs: method_instance, repair_instance, exact_tests
CREATE OR REPLACE VIEW repair_overlap AS
WITH pair AS (
    SELECT
        m.snapshot, m.method, m.model, r.method AS repair, r.model AS repair_model,
        count(*) FILTER (m.measured) AS instances,
        count(*) FILTER (m.solved) AS tests,
        count(*) FILTER (m.measured AND r.resolved) AS fixes,
        count(*) FILTER (m.solved AND r.resolved) AS "both"
    FROM method_instance('paper', 'tests-only') AS m
    JOIN repair_instance AS r
        ON r.snapshot = m.snapshot AND r.instance_id = m.instance_id AND r.resolved IS NOT NULL
    WHERE m.method NOT IN ('golden', 'nop')
    GROUP BY m.snapshot, m.method, m.model, r.method, r.model
)
SELECT *, round(100 * hypergeometric_tail("both", tests, fixes, instances), 1) AS p
FROM pair
WHERE fixes > 0
ORDER BY snapshot, method, model, repair, repair_model;
