-- What is the result of every method on every instance of its snapshot, sample 0, by `for_grader` and `for_policy`?
--
-- `method_instance_of` takes a list of graders, null for all, and has a column grader.
-- The controls `golden` and `nop` use their first policy if they lack this one.
-- provenance                of the method's candidates: `verified`, `self_reported`, `oracle`, or several with `+`
-- name                      method and model in one
-- candidate_id              null without a candidate. Such an instance counts as measured and not solved. It is
--                           unmeasured if a provider, a budget or a machine stopped the method
-- measured                  false where a run is missing; rates of the method exclude and count such instances
-- well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass  as in `paper`; null where unmeasured
-- robust                    solved, and no robustness check failed; null where unmeasured, and where a success was not
--                           checked
-- decoys, decoys_rejected   as in `robust_verdict`
-- needs: candidate_result, withdrawn_instance, used_instance, grader, left_undone
CREATE OR REPLACE MACRO method_instance_of(for_graders, for_policy) AS TABLE
WITH placed AS MATERIALIZED (
    SELECT *, coalesce(policy = for_policy OR (policy IS NOT NULL AND method IN ('golden', 'nop')), false) AS asked
    FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
    WHERE sample = 0
        AND (for_graders IS NULL OR list_contains(for_graders, grader))
        AND policy IS NOT DISTINCT FROM CASE WHEN list_contains(policies, for_policy) THEN for_policy ELSE policies[1] END
),
source AS (
    SELECT DISTINCT snapshot, method, model, provenance, grader FROM placed
),
entry AS (
    SELECT snapshot, method, model, grader, string_agg(provenance, '+' ORDER BY provenance) AS provenance
    FROM source
    GROUP BY snapshot, method, model, grader
),
cell AS (
    SELECT e.*, i.instance_id
    FROM entry AS e
    JOIN (SELECT DISTINCT snapshot, instance_id FROM used_instance) AS i ON i.snapshot = e.snapshot
),
told AS (
    SELECT c.*, p.* EXCLUDE (snapshot, method, model, grader, provenance, instance_id),
        p.candidate_id IS NULL AND u.instance_id IS NULL AS absent
    FROM cell AS c
    LEFT JOIN placed AS p
        ON p.snapshot = c.snapshot AND p.instance_id = c.instance_id AND p.method = c.method
        AND p.model IS NOT DISTINCT FROM c.model AND p.grader = c.grader
    LEFT JOIN left_undone AS u
        ON u.snapshot = c.snapshot AND u.instance_id = c.instance_id AND u.method = c.method AND u.model = c.model
)
SELECT
    grader, snapshot, method, model, provenance,
    method || coalesce(' (' || model || ')', '') AS name,
    instance_id, candidate_id,
    CASE WHEN asked THEN policy END AS policy,
    absent OR coalesce(asked AND measured, false) AS measured,
    CASE WHEN absent THEN false WHEN asked THEN well_formed END AS well_formed,
    CASE WHEN absent THEN false WHEN asked THEN solved END AS solved,
    CASE WHEN absent THEN false WHEN asked THEN robust END AS robust,
    CASE WHEN asked THEN decoys END AS decoys,
    CASE WHEN asked THEN decoys_rejected END AS decoys_rejected,
    CASE WHEN absent THEN false WHEN asked THEN fail_to_any END AS fail_to_any,
    CASE WHEN absent THEN false WHEN asked THEN fail_to_pass END AS fail_to_pass,
    CASE WHEN absent THEN false WHEN asked THEN pass_to_pass END AS pass_to_pass
FROM told;

CREATE OR REPLACE MACRO method_instance(for_grader, for_policy) AS TABLE
SELECT * EXCLUDE (grader) FROM method_instance_of([for_grader], for_policy);
