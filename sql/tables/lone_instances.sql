-- How many instances have golden tests with another outcome alone than together, and why?
--
-- One row per snapshot and reason, over the instances that `swt validate --alone` checked, each in the environment of
-- its latest check.
-- The TDFlow paper excluded 22 of 300 and 45 of 500 instances for this. An instance with several reasons counts for
-- each.
-- reason     of `golden_case_alone`; `any` counts an instance with any reason once; `same` has instances without a
--            difference
-- instances  instances with such a case
-- share      of the checked instances, in %
-- cases      cases on a code state
-- before     those on the code before the fix: a debugger would see another failure
-- after      those on the fixed code: they do not pass alone
-- example    one of them, with its instance
-- needs: golden_case_alone, used_instance
CREATE OR REPLACE VIEW lone_instances AS
WITH latest AS (
    SELECT instance_key, max_by(env_id, created_at) AS env_id FROM golden_case_alone GROUP BY instance_key
),
seen AS (
    SELECT t.snapshot, t.instance_id, g.reason, g.code_state, g.case_id
    FROM golden_case_alone AS g
    JOIN latest AS l ON l.instance_key = g.instance_key AND l.env_id = g.env_id
    JOIN used_instance AS t ON t.instance_key = g.instance_key
),
looked AS (SELECT snapshot, count(DISTINCT instance_id) AS looked_at FROM seen GROUP BY snapshot),
differing AS (SELECT * FROM seen WHERE reason <> ''),
sorted AS (
    SELECT * FROM differing
    UNION ALL
    SELECT * REPLACE ('any' AS reason) FROM differing
    UNION ALL
    SELECT * REPLACE ('same' AS reason) FROM seen ANTI JOIN differing USING (snapshot, instance_id)
)
SELECT
    s.snapshot, s.reason,
    count(DISTINCT s.instance_id) AS instances,
    round(100.0 * count(DISTINCT s.instance_id) / any_value(k.looked_at), 1) AS share,
    count(*) AS cases,
    count(*) FILTER (s.code_state = 'before') AS before,
    count(*) FILTER (s.code_state = 'after') AS after,
    min(s.instance_id || ' ' || s.case_id) AS example
FROM sorted AS s
JOIN looked AS k ON k.snapshot = s.snapshot
GROUP BY s.snapshot, s.reason
ORDER BY s.snapshot, s.reason <> 'same', s.reason <> 'any', instances DESC, s.reason;
