-- How accurately do methods locate bugs with the papers' retriever?
--
-- Columns of `localization_accuracy_by`, for the variant `lucene`.
-- needs: localization_accuracy_by
CREATE OR REPLACE VIEW localization_lucene AS
SELECT * FROM localization_accuracy_by('lucene');
