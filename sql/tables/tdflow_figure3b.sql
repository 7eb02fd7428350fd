-- Another name of `repair_by_cost`: Figure 3 (b) of the TDFlow paper.
--
-- n           instances that count
-- pass_rate   share of them whose fix is resolved, in %
-- needs: repair_by_cost
CREATE OR REPLACE VIEW tdflow_figure3b AS
FROM repair_by_cost;
