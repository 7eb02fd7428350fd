-- How does success depend on the instance's statement length?
--
-- Rows of `success_by` by statement length in words (figure 5). Grader `paper`, policy `tests-only`, without the
-- controls.
-- part           band of words in the statement
-- S              rate of solved ones, in %
-- S_low, S_high  Wilson's 95 % interval of S
-- S_robust       share of robust successes, in %; null where a success was not fully checked
-- needs: success_by
CREATE OR REPLACE VIEW success_by_statement_length AS
SELECT * EXCLUDE ("by") FROM success_by('paper', 'tests-only') WHERE "by" = 'words' AND method NOT IN ('golden', 'nop');
