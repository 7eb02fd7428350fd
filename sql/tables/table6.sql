-- Another name of `repair_overlap`: the paper's Table 6.
--
-- needs: repair_overlap
CREATE OR REPLACE VIEW table6 AS
FROM repair_overlap;
