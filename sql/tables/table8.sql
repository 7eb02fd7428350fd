-- Another name of `temperature`: the paper's Table 8.
--
-- needs: temperature
CREATE OR REPLACE VIEW table8 AS
FROM temperature;
