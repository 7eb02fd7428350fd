-- Which steps does each repair attempt consist of?
--
-- One row per sub-agent run and per test run on a patch (`who` is `tests`), in order, over all attempts, finished or
-- not. `FROM repair_story WHERE instance_id = '…'`.
-- snapshot   of a finished attempt; null for an unfinished one
-- position   1-based, in its attempt
-- who        the sub-agent, or `tests`
-- iteration  1-based; 0 for Generate Tests
-- asked      the model of the sub-agent
-- case_id    the test that was debugged
-- calls      replies of the model
-- did        tools that it used and refused requests, in order
-- what       how the step ended, in words
-- made       the submitted tests, patch or report; for `tests` the patch as it was applied
-- refused    errors in its replies
-- targets    tests that have to pass
-- passing    those of them that pass
-- broken     tests that passed before and no longer pass
-- cost_usd   dollars of these replies when they were made
-- needs: repair_step, repair_patch, repair_attempt
CREATE OR REPLACE VIEW repair_story AS
WITH event AS (
    SELECT
        attempt_id, instance_key, instance_id, method, model, iteration, agent AS who,
        coalesce(asked, model) AS asked, nullif(case_id, '') AS case_id, calls,
        array_to_string([one for one in branches if one <> 'asked'], ', ') AS did,
        CASE WHEN submitted THEN 'handed in' ELSE 'handed in nothing' END AS what,
        submission AS made, reasons AS refused,
        NULL::BIGINT AS targets, NULL::BIGINT AS passing, NULL::VARCHAR[] AS broken, cost_usd,
        finished_at
    FROM repair_step
    UNION ALL
    SELECT
        attempt_id, instance_key, instance_id, method, model, iteration, 'tests', NULL, NULL, NULL, '',
        CASE
            WHEN status IS NULL THEN 'not applied: ' || problem
            ELSE
                resolved || ' of ' || targets || ' targets pass'
                || CASE WHEN len(broken) > 0 THEN ', ' || len(broken) || ' of ' || guarded || ' others broken' ELSE '' END
                || CASE WHEN rung <> 'exact' THEN ' (applied: ' || rung || ')' ELSE '' END
        END,
        patch, [], targets, resolved, broken, NULL, created_at
    FROM repair_patch
    WHERE patch <> ''
)
SELECT
    a.snapshot, e.attempt_id, e.instance_key, e.instance_id, e.method, e.model,
    row_number() OVER (PARTITION BY e.attempt_id ORDER BY e.iteration, place.n, e.finished_at, e.case_id) AS position,
    e.iteration, e.who, e.asked, e.case_id, e.calls, e.did, e.what, e.made, e.refused, e.targets, e.passing, e.broken,
    e.cost_usd, e.finished_at
FROM event AS e
JOIN (
    VALUES ('generate-tests', 1), ('explore-files', 2), ('agent', 2), ('revise-patch', 3), ('tests', 4), ('debug-one', 5)
) AS place(who, n) ON place.who = e.who
LEFT JOIN repair_attempt AS a ON a.attempt_id = e.attempt_id
ORDER BY e.instance_id, e.method, e.model, e.attempt_id, position;
