-- What result does each grader give each candidate, robustness checks included?
--
-- One row per candidate that tables can count (`placed_candidate`), policy and grader. Tables about methods read this
-- view, not candidates or runs.
-- A candidate without a submission has one row per grader with a null policy.
-- Columns as in `robust_verdict` and `candidate`. Withdrawn instances are included; `verdict` and `robust_verdict`
-- exclude them.
-- policies            all patch filters of the candidate's submissions, sorted
-- failed_guards       names of the robustness checks that failed, sorted; empty if the candidate is not solved
-- tests               cases of T; null where unmeasured or where the patch does not apply
-- f2p, p2p, p2f, f2f  cases of T that fail or pass before and after the golden patch, as the grader counts outcomes;
--                     null as `tests`
-- kept: beside the runs
-- needs: placed_candidate, submission, submission_run, submission_case, graders, grader, transition, guard_summary
CREATE OR REPLACE VIEW candidate_result AS
WITH submitted AS (
    SELECT candidate_id, list_sort(list(DISTINCT policy)) AS policies FROM submission GROUP BY candidate_id
),
graded AS (
    SELECT * FROM each_grader($$SELECT * FROM {grader} WHERE counted$$)
),
counted AS (
    SELECT
        c.candidate_id, c.policy, t.grader,
        count(*) AS tests,
        count(*) FILTER (t.transition = 'fail_to_pass') AS f2p,
        count(*) FILTER (t.transition = 'pass_to_pass') AS p2p,
        count(*) FILTER (t.transition = 'pass_to_fail') AS p2f,
        count(*) FILTER (t.transition = 'fail_to_fail') AS f2f
    FROM submission_case AS c
    JOIN transition AS t ON t.before = c.candidate_before AND t.after = c.candidate_after
    WHERE c.in_t
    GROUP BY c.candidate_id, c.policy, t.grader
)
SELECT
    p.snapshot, p.instance_id, p.instance_key, p.method, p.model, p.sample, p.candidate_id, p.provenance,
    g.grader, v.policy, coalesce(s.policies, []) AS policies,
    coalesce(v.measured, false) AS measured,
    v.well_formed, v.solved, v.fail_to_any, v.fail_to_pass, v.pass_to_pass, coalesce(v.reason, '') AS reason,
    CASE WHEN v.solved THEN h.failed_guards ELSE [] END AS failed_guards,
    CASE
        WHEN v.solved AND len(h.failed_guards) = 0 AND h.unmeasured THEN NULL
        WHEN v.solved THEN len(h.failed_guards) = 0
        ELSE v.solved
    END AS robust,
    CASE WHEN v.solved THEN h.decoys END AS decoys,
    CASE WHEN v.solved THEN h.decoys_rejected END AS decoys_rejected,
    CASE WHEN r.measured THEN coalesce(n.tests, 0) END AS tests,
    CASE WHEN r.measured THEN coalesce(n.f2p, 0) END AS f2p,
    CASE WHEN r.measured THEN coalesce(n.p2p, 0) END AS p2p,
    CASE WHEN r.measured THEN coalesce(n.p2f, 0) END AS p2f,
    CASE WHEN r.measured THEN coalesce(n.f2f, 0) END AS f2f
FROM placed_candidate AS p
CROSS JOIN grader AS g
LEFT JOIN submitted AS s ON s.candidate_id = p.candidate_id
LEFT JOIN graded AS v ON v.snapshot = p.snapshot AND v.candidate_id = p.candidate_id AND v.grader = g.grader
LEFT JOIN submission_run AS r ON r.candidate_id = v.candidate_id AND r.policy = v.policy
LEFT JOIN guard_summary AS h ON h.candidate_id = v.candidate_id AND h.policy = v.policy AND h.grader = v.grader
LEFT JOIN counted AS n ON n.candidate_id = v.candidate_id AND n.policy = v.policy AND n.grader = v.grader;
