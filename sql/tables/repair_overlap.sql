-- Does whoever writes a reproducing test also repair the code?
--
-- Per snapshot, method of test generation and method of repair: instances: those on which both were measured; tests:
-- instances whose test is solved; fixes: instances with a fix that is resolved (sample 0); both; p: in %, the chance that
-- two independent methods of these sizes overlap so much or more (SWT-Bench paper, section 5.3, table 6: also `table6`).
-- model               of the tests
-- repair, repair_model  method and model of the fixes
-- instances           measured for the tests and the fixes
-- both                instances with a solved test and a right fix
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
