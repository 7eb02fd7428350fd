-- Does a repair method do better with tests that people wrote? Table 2 of the TDFlow paper.
--
-- Columns of `repair_rate`, for methods whose source of tests is known.
-- needs: repair_rate
CREATE OR REPLACE VIEW tdflow_table2 AS
SELECT
    snapshot, method, model, tests, instances, n, resolved, pass_rate, pass_low, pass_high, snapshot_rate,
    cost_per_issue, test_resolution_cost
FROM repair_rate
WHERE tests <> ''
ORDER BY snapshot, pass_rate NULLS LAST, method, model;
