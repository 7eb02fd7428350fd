-- Does each would-be success hold when its guards look at it?
--
-- One row per solved verdict (snapshot, candidate_id, policy, grader) and guard. result:
-- passed          the cases that the grader looks at are what they were, as that grader counts outcomes
-- failed          some of them are not
-- not_measured    a run is not there, or the edit does not apply to what the candidate makes of the code
-- not_applicable  the fix cannot be edited for this guard: it has no Python file that today's grammar parses
-- why  the first case that differs with what it was and is, or what is missing; empty where passed.
-- `repeat`, `placebo` and `paraphrase` are runs. The paper's grader looks at T, the others at every case that the
-- candidate makes behave otherwise.
-- needs: verdict, guard_run, guard_case, guard_edit, outcome_class, submission
CREATE OR REPLACE VIEW guard_outcome AS
WITH needed AS (
    SELECT v.snapshot, v.candidate_id, v.policy, v.instance_key, v.grader, g.guard, g.code_state
    FROM verdict AS v
    CROSS JOIN (
        VALUES ('repeat', 'before'), ('repeat', 'after'), ('placebo', 'before'), ('paraphrase', 'after')
    ) AS g (guard, code_state)
    WHERE v.solved
),
differing AS (
    SELECT
        c.candidate_id, c.policy, c.guard, c.code_state, e.grader,
        min(c.case_id || ': ' || c.expected || ' in `' || c.code_state || '`, ' || c.observed || ' here') AS difference
    FROM guard_case AS c
    JOIN outcome_class AS e ON e.outcome = c.expected
    JOIN outcome_class AS o ON o.outcome = c.observed AND o.grader = e.grader
    WHERE e.class <> o.class AND CASE WHEN e.grader = 'paper' THEN c.in_t ELSE c.own END
    GROUP BY c.candidate_id, c.policy, c.guard, c.code_state, e.grader
),
cell AS (
    SELECT
        n.*, d.difference,
        r.run_key IS NOT NULL AND r.status <> 'unapplied' AS ran,
        e.patch = '' AS barren,
        CASE
            WHEN e.patch = '' THEN array_to_string(e.skipped, '; ')
            WHEN r.status = 'unapplied' THEN 'the edit does not apply'
            WHEN r.run_key IS NULL THEN 'there is no run on `' || n.code_state || '`'
        END AS missing
    FROM needed AS n
    LEFT JOIN guard_run AS r
        ON r.candidate_id = n.candidate_id AND r.policy = n.policy AND r.guard = n.guard
        AND r.code_state = n.code_state
    LEFT JOIN guard_edit AS e ON e.instance_key = n.instance_key AND e.variant = n.guard
    LEFT JOIN differing AS d
        ON d.candidate_id = n.candidate_id AND d.policy = n.policy AND d.guard = n.guard
        AND d.code_state = n.code_state AND d.grader = n.grader
)
SELECT
    snapshot, candidate_id, policy, grader, guard,
    CASE
        WHEN bool_or(coalesce(barren, false)) THEN 'not_applicable'
        WHEN bool_or(ran AND difference IS NOT NULL) THEN 'failed'
        WHEN bool_and(ran) THEN 'passed'
        ELSE 'not_measured'
    END AS result,
    CASE
        WHEN result = 'passed' THEN ''
        WHEN result = 'failed' THEN min(difference)
        ELSE coalesce(min(missing), '')
    END AS why
FROM cell
GROUP BY snapshot, candidate_id, policy, grader, guard;
