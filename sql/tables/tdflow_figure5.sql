-- Another name of `tests_per_instance`: Figure 5 of the TDFlow paper.
--
-- needs: tests_per_instance
CREATE OR REPLACE VIEW tdflow_figure5 AS
FROM tests_per_instance;
