-- What does a pair of outcomes mean, for each grader?
--
-- One row per (grader, before, after), outcomes with `missing`: 64 rows for each grader.
-- transition  `fail_to_pass`, `fail_to_fail`, `pass_to_pass`, `pass_to_fail`, and
--     paper: also those with `none` on a side, `fail_to_none` … `none_to_none`
--     swt_bench: `unmatched` where the case counts as nothing. A case that is neither before counts as failing, one
--     that passed before and is neither after as broken.
--     swt_bench_2024 (until 2025-09-11): what swt_bench leaves unmatched is `fail_to_fail`, as soon as the log has a
--     line for the case in one of the states.
-- needs: outcome_class
CREATE OR REPLACE VIEW transition AS
WITH pair AS (
    SELECT
        b.grader, b.outcome AS before, a.outcome AS after,
        b.class || '_to_' || a.class AS plain,
        b.seen OR a.seen AS seen
    FROM outcome_class AS b JOIN outcome_class AS a ON a.grader = b.grader
)
SELECT
    grader, before, after,
    CASE
        WHEN grader = 'paper' THEN plain
        WHEN plain = 'none_to_pass' THEN 'fail_to_pass'
        WHEN plain = 'none_to_fail' THEN 'fail_to_fail'
        WHEN plain = 'pass_to_none' THEN 'pass_to_fail'
        WHEN plain NOT IN ('fail_to_none', 'none_to_none') THEN plain
        WHEN grader = 'swt_bench_2024' AND seen THEN 'fail_to_fail'
        ELSE 'unmatched'
    END AS transition
FROM pair;
