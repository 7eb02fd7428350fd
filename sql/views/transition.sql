-- What does a pair of outcomes mean, for each grader?
--
-- One row per (grader, before, after), outcomes with `missing`: 64 rows for each grader.
-- transition  `fail_to_pass`, `fail_to_fail`, `pass_to_pass`, `pass_to_fail`, and what else the grader knows: with
--     `none` or `missing` on a side, or `unmatched` where the case counts as nothing.
-- needs: graders
CREATE OR REPLACE VIEW transition AS
SELECT * FROM each_grader($$SELECT * FROM {grader}_transition$$);
