-- Another name of `repair_by_bad_tests`: Figure 2 of the TDFlow paper.
--
-- needs: repair_by_bad_tests
CREATE OR REPLACE VIEW tdflow_figure2 AS
FROM repair_by_bad_tests;
