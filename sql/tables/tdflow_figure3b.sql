-- Another name of `repair_by_cost`: Figure 3 (b) of the TDFlow paper.
--
-- needs: repair_by_cost
CREATE OR REPLACE VIEW tdflow_figure3b AS
FROM repair_by_cost;
