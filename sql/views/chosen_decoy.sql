-- Which decoys does each solved candidate of an instance run on?
--
-- At most three valid decoys per instance, the same for all candidates. If possible, each comes from another direction:
-- `fix` is the golden patch broken, without a part or without behaviour; else a wrong repair. `near` is a small change
-- of a changed function. `elsewhere` is a change of other code, made from the fix of another issue.
-- Within a direction, decoys on which golden tests fail as on the base commit come first, then quiet ones. On other
-- decoys, a test that also runs much unchanged behaviour fails for a wrong reason.
-- Within direction `fix`, decoys that change behaviour come first.
-- direction  `fix`, `near` or `elsewhere`
-- place      1-based rank of the decoy
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
