-- How does each grader classify a pair of outcomes?
--
-- One row per (grader, before, after), with `missing` as an outcome: 64 rows per grader.
-- transition  `fail_to_pass`, `fail_to_fail`, `pass_to_pass`, `pass_to_fail`, and further classes of the grader: with
--             `none` or `missing` on a side, or `unmatched` where the case does not count
-- needs: graders
CREATE OR REPLACE VIEW transition AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_transition$$);
