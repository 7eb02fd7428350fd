-- Another name of `repair_by_iteration`: Figure 3 (a) of the TDFlow paper.
--
-- needs: repair_by_iteration
CREATE OR REPLACE VIEW tdflow_figure3a AS
FROM repair_by_iteration;
