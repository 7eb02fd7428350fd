-- Another name of `calls_to_success`: the paper's Figure 8 (b); `pass_at_k` answers (a).
--
-- needs: calls_to_success
CREATE OR REPLACE VIEW figure8 AS
FROM calls_to_success;
