-- Every verdict of every grader: one row per candidate, policy and grader.
--
-- Columns as in `paper`. Adding a grader is one file in sql/graders and one line here.
-- needs: paper, swt_bench, swt_bench_2024
CREATE OR REPLACE VIEW verdict AS
SELECT * FROM paper
UNION ALL BY NAME SELECT * FROM swt_bench
UNION ALL BY NAME SELECT * FROM swt_bench_2024;
