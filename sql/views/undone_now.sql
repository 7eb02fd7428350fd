-- What is undone and has not been made up for since?
--
-- The latest row of each subject in each round and scope, unless a later round of that name did it. Exit codes are about
-- the rows of one flow run; this is about the store.
-- needs: undone, flow_round
CREATE OR REPLACE VIEW undone_now AS
SELECT u.*
FROM undone AS u
WHERE NOT EXISTS (
    FROM flow_round AS r
    WHERE r.round = u.round AND r.scope = u.scope AND list_contains(r.done, u.subject) AND r.finished_at > u.at)
QUALIFY row_number() OVER (PARTITION BY u.round, u.scope, u.subject, u.detail ORDER BY u.at DESC) = 1;
