-- Which repair system resolves most issues, and at which cost? Table 1 of the TDFlow paper.
--
-- Columns of `repair_rate`. A system is a method with its model.
-- needs: repair_rate
CREATE OR REPLACE VIEW tdflow_table1 AS
SELECT snapshot, method, model, instances, n, resolved, pass_rate, pass_low, pass_high, snapshot_rate,
    cost_per_issue
FROM repair_rate
ORDER BY snapshot, pass_rate NULLS LAST, method, model;
