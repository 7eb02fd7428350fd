-- Another name of `success_by_repository`: the paper's Figure 9.
--
-- needs: success_by_repository
CREATE OR REPLACE VIEW figure9 AS
FROM success_by_repository;
