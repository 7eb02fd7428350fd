-- What does each guard say of each well-formed submission, solved or not, as each grader counts outcomes?
--
-- One row per (candidate_id, policy, grader, guard), with its instance, method, model and sample; columns as in
-- `guard_outcome`, which asks about successes only.
-- kept: beside the runs
-- needs: submission_run, candidate_origin, guard_run, guard_case, guard_edit, grader, outcome_class, submission_lint
CREATE OR REPLACE VIEW guard_result AS
WITH submitted AS MATERIALIZED (
    SELECT s.candidate_id, s.policy, s.instance_key, o.instance_id, o.method, o.model, o.sample, e.grader
    FROM submission_run AS s
    LEFT JOIN candidate_origin AS o ON o.candidate_id = s.candidate_id
    CROSS JOIN grader AS e
),
edit AS (
    SELECT
        s.*, x.guard, x.code_state, coalesce(e.repeat, 0) AS repeat,
        coalesce(e.patch = '', false) AS barren, array_to_string(e.skipped, '; ') AS skipped
    FROM submitted AS s
    CROSS JOIN (VALUES ('placebo', 'before'), ('paraphrase', 'after')) AS x (guard, code_state)
    LEFT JOIN guard_edit AS e ON e.instance_key = s.instance_key AND e.variant = x.guard
),
needed AS (
    SELECT *, NOT barren AS required FROM edit
    UNION ALL
    SELECT * REPLACE ('repeat' AS guard), barren AS required FROM edit
),
differing AS (
    SELECT
        c.candidate_id, c.policy, c.run_key, e.grader,
        min(c.case_id || ': ' || c.expected || ' in `' || c.code_state || '`, ' || c.observed || ' here')
            FILTER (e.class <> o.class AND c.pair <> 'ambiguous') AS difference,
        min(c.case_id || ': the id differs between processes, and its place does not tell which case it is')
            FILTER (c.pair = 'ambiguous') AS unpaired
    FROM guard_case AS c
    JOIN outcome_class AS e ON e.outcome = c.expected
    JOIN outcome_class AS o ON o.outcome = c.observed AND o.grader = e.grader
    JOIN grader AS g ON g.grader = e.grader
    WHERE (e.class <> o.class OR c.pair = 'ambiguous') AND CASE WHEN g.only_t THEN c.in_t ELSE c.own END
    GROUP BY c.candidate_id, c.policy, c.run_key, e.grader
),
cell AS (
    SELECT
        n.*, d.difference,
        r.run_key IS NOT NULL AND r.status <> 'unapplied' AS ran,
        d.unpaired IS NULL AND ran AS compared,
        CASE
            WHEN d.unpaired IS NOT NULL THEN d.unpaired
            WHEN r.status = 'unapplied' THEN 'the edit does not apply'
            WHEN r.run_key IS NULL THEN 'there is no run on `' || n.code_state || '`'
        END AS missing
    FROM needed AS n
    LEFT JOIN guard_run AS r
        ON r.candidate_id = n.candidate_id AND r.policy = n.policy AND r.guard = n.guard
        AND r.code_state = n.code_state AND r.repeat = n.repeat
    LEFT JOIN differing AS d
        ON d.candidate_id = n.candidate_id AND d.policy = n.policy AND d.run_key = r.run_key AND d.grader = n.grader
)
SELECT
    instance_key, instance_id, method, model, sample, candidate_id, policy, grader, guard,
    CASE
        WHEN NOT bool_or(required OR (guard = 'repeat' AND ran)) THEN 'not_applicable'
        WHEN bool_or(ran AND difference IS NOT NULL) THEN 'failed'
        WHEN bool_or(required AND NOT compared) THEN 'not_measured'
        ELSE 'passed'
    END AS result,
    CASE
        WHEN result = 'passed' THEN ''
        WHEN result = 'failed' THEN min(difference)
        WHEN result = 'not_measured' THEN min(missing) FILTER (required)
        WHEN guard = 'repeat' THEN 'placebo and paraphrase are repeats as well'
        ELSE coalesce(min(skipped), '')
    END AS why
FROM cell
GROUP BY instance_key, instance_id, method, model, sample, candidate_id, policy, grader, guard
UNION ALL
SELECT
    s.instance_key, s.instance_id, s.method, s.model, s.sample, s.candidate_id, s.policy, s.grader, 'lint',
    CASE WHEN l.candidate_id IS NULL THEN 'passed' ELSE 'failed' END,
    coalesce(array_to_string(l.rules, ', ') || ' in ' || l.why, '')
FROM submitted AS s
LEFT JOIN submission_lint AS l ON l.candidate_id = s.candidate_id AND l.policy = s.policy AND l.cost = 'reject';
