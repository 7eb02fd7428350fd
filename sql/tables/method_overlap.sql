-- Another name of `overlap`: the paper's Figure 6.
--
-- needs: overlap
CREATE OR REPLACE VIEW method_overlap AS
FROM overlap;
