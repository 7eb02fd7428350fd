-- Another name of `test_transitions`: Figure 4 of the TDFlow paper.
--
-- needs: test_transitions
CREATE OR REPLACE VIEW tdflow_figure4 AS
FROM test_transitions;
