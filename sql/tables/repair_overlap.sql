-- Does whoever writes a reproducing test also repair the code?
--
-- Per snapshot, method of test generation and method of repair with a fix that was run: instances; tests: instances whose
-- test is solved; fixes: instances with a fix that is right (`fix_status`); both; p: in %, the chance that two
-- independent methods of these sizes overlap so much or more (paper, section 5.3, table 6: also `table6`).
-- repair     method of the fixes
-- instances  measured for the tests
-- both       instances with a solved test and a right fix
-- needs: method_instance, fix_status, exact_tests
CREATE OR REPLACE VIEW repair_overlap AS
WITH fixed AS (
    SELECT method AS repair, instance_id, bool_or(status = 'right') AS fixed
    FROM fix_status
    WHERE status IN ('right', 'wrong')
    GROUP BY method, instance_id
),
pair AS (
    SELECT
        m.snapshot, m.method, m.model, r.repair,
        count(*) FILTER (m.measured) AS instances,
        count(*) FILTER (m.solved) AS tests,
        count(*) FILTER (m.measured AND f.fixed) AS fixes,
        count(*) FILTER (m.solved AND f.fixed) AS "both"
    FROM method_instance('paper', 'tests-only') AS m
    CROSS JOIN (SELECT DISTINCT repair FROM fixed) AS r
    LEFT JOIN fixed AS f ON f.repair = r.repair AND f.instance_id = m.instance_id
    WHERE m.method NOT IN ('golden', 'nop')
    GROUP BY m.snapshot, m.method, m.model, r.repair
)
SELECT *, round(100 * hypergeometric_tail("both", tests, fixes, instances), 1) AS p
FROM pair
WHERE fixes > 0
ORDER BY snapshot, method, model, repair;
