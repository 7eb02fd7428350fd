-- Another name of `tests_per_instance`: Figure 5 of the TDFlow paper.
--
-- instances   that count
-- pass_rate   share of them whose fix is resolved, in %
-- needs: tests_per_instance
CREATE OR REPLACE VIEW tdflow_figure5 AS
FROM tests_per_instance;
