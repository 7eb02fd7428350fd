-- Which decoys does each would-be success of an instance run on?
--
-- At most three valid decoys of an instance, the same for all candidates. The first is one without behaviour. Then come
-- those that change behaviour: first those near the fix, which a test that knows the place notices, and of these the quiet
-- ones. On others, a test that also runs much unchanged behaviour fails for a wrong reason.
-- place  from 1: its place among them
-- needs: decoy_status
CREATE OR REPLACE VIEW chosen_decoy AS
WITH valid AS (
    SELECT
        *, kind = 'no-behaviour' AS still,
        row_number() OVER (PARTITION BY instance_key, kind = 'no-behaviour' ORDER BY number) AS nth
    FROM decoy_status
    WHERE class = 'decoy'
)
SELECT
    instance_key, instance_id, fix_id, number, kind, near, detail, quiet,
    row_number() OVER (
        PARTITION BY instance_key ORDER BY still AND nth = 1 DESC, still, near DESC, quiet DESC, number
    ) AS place
FROM valid
QUALIFY place <= 3;
