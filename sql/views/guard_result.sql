-- What is the result of each robustness check on each well-formed submission, solved or not, per grader?
--
-- One row per (candidate_id, policy, grader, guard), with instance, method, model and sample. Columns as in
-- `guard_outcome`, which has successes only.
-- decoys, decoys_rejected  chosen decoys that the candidate ran on, and those of them that it rejects; 0 for other
--                          checks
-- kept: beside the runs
-- needs: submission_run, candidate_origin, guard_run, guard_case, guard_edit, grader, outcome_class, chosen_decoy,
-- needs: decoy_rejection
CREATE OR REPLACE VIEW guard_result AS
WITH submitted AS MATERIALIZED (
    SELECT s.candidate_id, s.policy, s.instance_key, o.instance_id, o.method, o.model, o.sample, e.grader
    FROM submission_run AS s
    LEFT JOIN candidate_origin AS o ON o.candidate_id = s.candidate_id
    CROSS JOIN grader AS e
),
needed AS (
    SELECT
        s.*, x.guard, x.code_state,
        x.guard = 'repeat' OR coalesce(e.patch, 'not made yet') <> '' AS required,
        array_to_string(e.skipped, '; ') AS skipped
    FROM submitted AS s
    CROSS JOIN (VALUES
        ('repeat', 'before'), ('repeat', 'after'), ('placebo', 'before'), ('paraphrase', 'after'), ('variant', 'after')
    ) AS x (guard, code_state)
    LEFT JOIN guard_edit AS e ON e.instance_key = s.instance_key AND e.variant = x.guard
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
        ON r.candidate_id = n.candidate_id AND r.policy = n.policy AND r.guard = n.guard AND r.code_state = n.code_state
    LEFT JOIN differing AS d
        ON d.candidate_id = n.candidate_id AND d.policy = n.policy AND d.run_key = r.run_key AND d.grader = n.grader
),
asked AS (
    SELECT s.*, d.fix_id, r.rejected, r.why, r.candidate_id IS NOT NULL AS turns
    FROM submitted AS s
    LEFT JOIN chosen_decoy AS d ON d.instance_key = s.instance_key
    LEFT JOIN decoy_rejection AS r
        ON r.candidate_id = s.candidate_id AND r.policy = s.policy AND r.fix_id = d.fix_id
)
SELECT
    instance_key, instance_id, method, model, sample, candidate_id, policy, grader, guard,
    CASE
        WHEN NOT bool_or(required) THEN 'not_applicable'
        WHEN bool_or(required AND ran AND difference IS NOT NULL) THEN 'failed'
        WHEN bool_or(required AND NOT compared) THEN 'not_measured'
        ELSE 'passed'
    END AS result,
    CASE result
        WHEN 'passed' THEN ''
        WHEN 'failed' THEN min(difference)
        WHEN 'not_measured' THEN min(missing) FILTER (required)
        ELSE coalesce(min(skipped), '')
    END AS why,
    0 AS decoys, 0 AS decoys_rejected
FROM cell
GROUP BY instance_key, instance_id, method, model, sample, candidate_id, policy, grader, guard
UNION ALL
SELECT
    instance_key, instance_id, method, model, sample, candidate_id, policy, grader, 'decoy',
    CASE
        WHEN NOT bool_or(fix_id IS NOT NULL AND turns) THEN 'not_applicable'
        WHEN bool_or(NOT rejected) THEN 'failed'
        WHEN bool_or(rejected IS NULL) THEN 'not_measured'
        ELSE 'passed'
    END AS result,
    CASE
        WHEN result = 'passed' THEN ''
        WHEN result = 'failed' THEN min(why) FILTER (NOT rejected)
        WHEN result = 'not_measured' THEN min(why) FILTER (rejected IS NULL)
        WHEN bool_or(fix_id IS NOT NULL) THEN 'no case goes from failing to passing'
        ELSE 'the instance has no valid decoy'
    END AS why,
    count(rejected) AS decoys,
    count(*) FILTER (rejected) AS decoys_rejected
FROM asked
GROUP BY instance_key, instance_id, method, model, sample, candidate_id, policy, grader;
