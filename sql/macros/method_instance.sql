-- Every method on every instance of its snapshot, sample 0, by the grader `for_grader` and the policy `for_policy`.
--
-- Columns: snapshot, method, model, provenance (of the method's candidates: `verified`, `self_reported`, `oracle`, or
-- several with `+`), name (method and model in one), instance_id, candidate_id (null: no candidate,
-- which counts as measured and as not solved, unless provider, budget or machine left it undone: then as unmeasured), policy, measured, well_formed, solved, fail_to_any, fail_to_pass,
-- pass_to_pass (null where unmeasured: such an instance is left out of that method's rates, and counted), guarded
-- (solved, and no guard failed; null as well where a solved one was not guarded), chance (as in `guarded`).
-- needs: used_instance, counted_candidate, counted_policy, guarded, left_undone
CREATE OR REPLACE MACRO method_instance(for_grader, for_policy) AS TABLE
WITH entry AS (
    SELECT snapshot, method, model, string_agg(DISTINCT provenance, '+' ORDER BY provenance) AS provenance
    FROM counted_candidate
    WHERE sample = 0
    GROUP BY snapshot, method, model
),
cell AS (
    SELECT
        e.snapshot, e.method, e.model, e.provenance, i.instance_id, c.candidate_id,
        c.candidate_id IS NULL AND u.instance_id IS NULL AS absent
    FROM entry AS e
    JOIN (SELECT DISTINCT snapshot, instance_id FROM used_instance) AS i ON i.snapshot = e.snapshot
    LEFT JOIN counted_candidate AS c
        ON c.snapshot = e.snapshot AND c.instance_id = i.instance_id AND c.sample = 0
        AND c.method = e.method AND c.model IS NOT DISTINCT FROM e.model
    LEFT JOIN left_undone AS u
        ON u.snapshot = e.snapshot AND u.instance_id = i.instance_id AND u.method = e.method AND u.model = e.model
),
graded AS (
    SELECT v.*
    FROM guarded AS v
    JOIN counted_policy(for_policy) AS p ON p.candidate_id = v.candidate_id AND p.policy = v.policy
    WHERE v.grader = for_grader
)
SELECT
    c.snapshot, c.method, c.model, c.provenance,
    c.method || coalesce(' (' || c.model || ')', '') AS name,
    c.instance_id, c.candidate_id, v.policy,
    c.absent OR coalesce(v.measured, false) AS measured,
    CASE WHEN c.absent THEN false ELSE v.well_formed END AS well_formed,
    CASE WHEN c.absent THEN false ELSE v.solved END AS solved,
    CASE WHEN c.absent THEN false ELSE v.guarded END AS guarded,
    v.chance,
    CASE WHEN c.absent THEN false ELSE v.fail_to_any END AS fail_to_any,
    CASE WHEN c.absent THEN false ELSE v.fail_to_pass END AS fail_to_pass,
    CASE WHEN c.absent THEN false ELSE v.pass_to_pass END AS pass_to_pass
FROM cell AS c
LEFT JOIN graded AS v ON v.snapshot = c.snapshot AND v.candidate_id = c.candidate_id;
