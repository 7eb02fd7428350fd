-- Which decoys of an instance are ready, and does it need more?
--
-- One row per instance of a snapshot with golden tests.
-- suite_id  the golden tests
-- chosen    fixes of the chosen decoys, in order
-- short     fewer than three are chosen, or direction `near` has no quiet decoy, or direction `fix` has no quiet decoy
--           that changes behaviour
-- untried   numbers of the proposed decoys that golden tests did not run on; null where none was proposed yet
-- wrong     stored repairs on which no case of FAIL_TO_PASS passes; decoys can be made from them
-- needs: task_instance, golden_suite, decoy_status, chosen_decoy, fix_status, repair
CREATE OR REPLACE VIEW decoy_state AS
WITH ready AS (
    SELECT
        instance_key, list(fix_id ORDER BY place) AS chosen,
        count(*) < 3
            OR NOT bool_or(quiet AND direction = 'fix' AND kind <> 'no-behaviour')
            OR NOT bool_or(quiet AND direction = 'near') AS short
    FROM chosen_decoy
    GROUP BY instance_key
),
made AS (
    SELECT instance_key, coalesce(list(number ORDER BY number) FILTER (run_key IS NULL), []) AS untried
    FROM decoy_status
    GROUP BY instance_key
),
rejected AS (
    SELECT instance_key, list(fix_id ORDER BY fix_id) AS wrong
    FROM fix_status
    WHERE status = 'unresolved' AND f2p_passed = 0 AND fix_id IN (SELECT fix_id FROM repair)
    GROUP BY instance_key
)
SELECT
    t.snapshot, t.instance_id, t.instance_key, g.suite_id,
    coalesce(r.chosen, []) AS chosen,
    coalesce(r.short, true) AS short,
    m.untried,
    coalesce(w.wrong, []) AS wrong
FROM task_instance AS t
JOIN golden_suite AS g ON g.instance_key = t.instance_key AND NOT g.is_empty
LEFT JOIN ready AS r ON r.instance_key = t.instance_key
LEFT JOIN made AS m ON m.instance_key = t.instance_key
LEFT JOIN rejected AS w ON w.instance_key = t.instance_key;
