-- How large is the change coverage of each submission: the share of the golden patch's executable lines to which T adds
-- an execution?
--
-- One row per (candidate_id, policy, definition), with instance, method, model and sample. A submission whose patch
-- does not apply covers nothing.
-- Definition `paper` (section 3.3): a line is executable if the golden tests or T^R execute it on its side. T^R is the
-- repository's tests in the golden files.
-- A line is added if some case of T executes it. It is also added if the candidate's run executes it outside every case
-- (at import), and neither suite `none` (the repository's tests in the candidate's files) nor T^R ever executes it.
-- T^R counts here because a candidate that only adds a file has nothing in suite `none`. Importing the fixed module
-- alone must not count as coverage.
-- Definition `swt_bench`: a line is executable if it is a statement of a file that a golden or `none` run loaded, even
-- if never executed.
-- A line is added if it has more executions than in suite `none` on `after`. The public harness uses that base for
-- removed lines too, which is an error that this view repeats.
-- definition   of change coverage: `paper` or `swt_bench`
-- measured     the traced runs exist; for `swt_bench` also the execution counts that the comparison needs
-- numerator    lines to which T adds an execution; null where unmeasured
-- denominator  executable lines; null where unmeasured
-- delta_c      numerator / denominator; null where unmeasured or where no changed line is executable
-- kept: beside the runs
-- needs: submission, candidate_origin, submission_trace, trace_line
CREATE OR REPLACE VIEW change_coverage AS
WITH counted AS (
    SELECT
        candidate_id, policy,
        count(*) FILTER (golden + reference > 0) AS executable,
        count(*) FILTER (
            golden + reference > 0 AND (t_hit OR (candidate_outside AND none = 0 AND reference = 0))
        ) AS added,
        count(*) FILTER (statement) AS statements,
        count(*) FILTER (statement AND more) AS more,
        bool_or(statement AND more IS NULL) AS uncounted
    FROM trace_line
    GROUP BY candidate_id, policy
),
both_ways AS (
    SELECT
        s.candidate_id, s.policy, s.instance_key, d.definition,
        d.definition = 'paper' AS by_paper,
        CASE
            WHEN by_paper THEN coalesce(t.measured_paper, false)
            ELSE coalesce(t.measured_swt_bench, false) AND NOT coalesce(c.uncounted, false)
        END AS measured,
        coalesce(CASE WHEN by_paper THEN c.added ELSE c.more END, 0) AS covered,
        coalesce(CASE WHEN by_paper THEN c.executable ELSE c.statements END, 0) AS coverable
    FROM submission AS s
    CROSS JOIN (VALUES ('paper'), ('swt_bench')) AS d (definition)
    LEFT JOIN submission_trace AS t ON t.candidate_id = s.candidate_id AND t.policy = s.policy
    LEFT JOIN counted AS c ON c.candidate_id = s.candidate_id AND c.policy = s.policy
)
SELECT
    b.candidate_id, b.policy, b.instance_key, o.instance_id, o.method, o.model, o.sample, b.definition, b.measured,
    CASE WHEN measured THEN covered END AS numerator,
    CASE WHEN measured THEN coverable END AS denominator,
    numerator / nullif(denominator, 0)::DOUBLE AS delta_c
FROM both_ways AS b
LEFT JOIN candidate_origin AS o ON o.candidate_id = b.candidate_id;
