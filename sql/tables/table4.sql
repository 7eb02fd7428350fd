-- How do models differ with the same method?
--
-- The paper's Table 4. One row per snapshot, method and model, best first. Columns of `table2`, and dc_all of `table3`
-- (definition `paper`).
-- W, S, F_X  in % of n, as in `table2`
-- dc_all     mean change coverage in %
-- needs: table2, table3
CREATE OR REPLACE VIEW table4 AS
SELECT t.snapshot, t.method, t.model, t.n, t.unmeasured, t.W, t.S, t.S_robust, t.F_X, d.dc_all
FROM table2 AS t
LEFT JOIN table3 AS d
    ON d.snapshot = t.snapshot AND d.method = t.method AND d.model = t.model AND d.definition = 'paper'
WHERE t.model IS NOT NULL
ORDER BY t.snapshot, t.method, t.S DESC, t.model;
