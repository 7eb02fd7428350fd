-- Another name of `success_by_statement_length`: the paper's Figure 5.
--
-- needs: success_by_statement_length
CREATE OR REPLACE VIEW figure5 AS
FROM success_by_statement_length;
