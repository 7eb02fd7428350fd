-- Another name of `coverage`: the paper's Table 3.
--
-- needs: coverage
CREATE OR REPLACE VIEW table3 AS
FROM coverage;
