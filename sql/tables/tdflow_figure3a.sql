-- Another name of `repair_by_iteration`: Figure 3 (a) of the TDFlow paper.
--
-- n           instances that count
-- pass_rate   share of them whose fix is resolved, in %
-- needs: repair_by_iteration
CREATE OR REPLACE VIEW tdflow_figure3a AS
FROM repair_by_iteration;
