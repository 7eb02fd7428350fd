-- Which work is incomplete, and not completed since?
--
-- The latest failure of each subject per round and scope, unless a later round of that name completed it. Exit codes
-- describe one flow run; this view describes the store.
-- A round can be under way, or its process was killed. Then all its subjects are listed until a later round includes
-- them.
-- needs: undone, flow_round
CREATE OR REPLACE VIEW undone_now AS
WITH told AS (
    FROM undone
    UNION ALL BY NAME
    SELECT
        flow_run, story, round, subject, scope, '' AS unit, 'interrupted' AS error,
        'its round has not ended: it is under way, or its process was killed' AS detail, '' AS hint, '' AS traceback,
        0 AS attempts, true AS may_pass, started_at AS at
    FROM (SELECT *, unnest(asked) AS subject FROM flow_round WHERE finished_at IS NULL) AS k
    WHERE NOT EXISTS (
        FROM flow_round AS r
        WHERE r.round = k.round AND r.scope = k.scope AND list_contains(r.asked, k.subject)
            AND r.started_at > k.started_at)
)
SELECT u.*
FROM told AS u
WHERE NOT EXISTS (
    FROM flow_round AS r
    WHERE r.round = u.round AND r.scope = u.scope AND list_contains(r.done, u.subject) AND r.finished_at > u.at)
QUALIFY row_number() OVER (PARTITION BY u.round, u.scope, u.subject, u.detail ORDER BY u.at DESC) = 1;
