-- Another name of `repair_by_bad_tests`: Figure 2 of the TDFlow paper.
--
-- pass_rate   share of instances whose fix is resolved, in %
-- needs: repair_by_bad_tests
CREATE OR REPLACE VIEW tdflow_figure2 AS
FROM repair_by_bad_tests;
