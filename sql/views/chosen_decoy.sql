-- Which decoys does each would-be success of an instance run on?
--
-- At most three valid decoys of an instance, the same for all candidates, each from another direction where there is one:
-- like the fix    the golden patch broken, without a part, or without behaviour; else a wrong repair
-- near the fix    a small change of a changed function
-- elsewhere       a change of other code: the fix of another issue
-- Of one direction those come first on which golden tests fail as on the base commit, and then the quiet ones: on others, a
-- test that also runs much unchanged behaviour fails for a wrong reason. Of the ways to be like the fix those that change
-- behaviour come first.
-- direction  `fix`, `near` or `elsewhere`
-- place      from 1: its place among them
-- needs: decoy_status
CREATE OR REPLACE VIEW chosen_decoy AS
WITH valid AS (
    SELECT
        *,
        CASE
            WHEN kind IN ('broken-fix', 'partial', 'no-behaviour', 'wrong-repair') THEN 'fix'
            WHEN near THEN 'near'
            ELSE 'elsewhere'
        END AS direction,
        row_number() OVER (
            PARTITION BY instance_key, direction
            ORDER BY kind = 'no-behaviour', same DESC, quiet DESC, kind = 'wrong-repair', number
        ) AS nth
    FROM decoy_status
    WHERE class = 'decoy'
)
SELECT
    instance_key, instance_id, fix_id, number, kind, near, detail, quiet, direction,
    row_number() OVER (
        PARTITION BY instance_key ORDER BY nth, direction = 'fix' DESC, direction = 'near' DESC, number
    ) AS place
FROM valid
QUALIFY place <= 3;
