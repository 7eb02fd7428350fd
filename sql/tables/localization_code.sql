-- How accurately do methods locate bugs with the code-aware retriever?
--
-- Columns of `localization_accuracy_by`, for the variant `code`.
-- needs: localization_accuracy_by
CREATE OR REPLACE VIEW localization_code AS
SELECT * FROM localization_accuracy_by('code');
