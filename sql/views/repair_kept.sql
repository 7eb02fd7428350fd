-- Which fixes does each test generation method accept?
--
-- One row per test generation method (sample 0, `tests-only`, without the controls) and repair (every sample) of the
-- same snapshot.
-- method, model         of the tests
-- name                  both in one
-- repair, repair_model  method and model of the repair
-- tested                the method submitted a test for the instance
-- kept, robust          as in `fix_filter`; null where unmeasured. False for an unusable fix, and for an instance
--                       without a well-formed test, since there is no test to pass
-- measured              false where the status of the fix, or the result of the tests on it, is unknown
-- needs: used_instance, candidate_result, withdrawn_instance, submission, counted_repair, repair_status, fix_filter, left_undone
CREATE OR REPLACE VIEW repair_kept AS
WITH placed AS (
    SELECT DISTINCT snapshot, method, model, instance_id, candidate_id
    FROM candidate_result ANTI JOIN withdrawn_instance USING (snapshot, instance_id)
    WHERE sample = 0 AND method NOT IN ('golden', 'nop')
),
entry AS (
    SELECT DISTINCT snapshot, method, model FROM placed
),
-- A method's tests for an instance are the same for all repairs of the instance.
cell AS (
    SELECT
        e.snapshot, e.method, e.model, i.instance_id, c.candidate_id, s.suite_id,
        u.instance_id IS NOT NULL AND c.candidate_id IS NULL AS undone,
        c.candidate_id IS NOT NULL AND s.candidate_id IS NULL AS unsubmitted
    FROM entry AS e
    JOIN (SELECT DISTINCT snapshot, instance_id FROM counted_repair) AS i ON i.snapshot = e.snapshot
    LEFT JOIN placed AS c
        ON c.snapshot = e.snapshot AND c.instance_id = i.instance_id
        AND c.method = e.method AND c.model IS NOT DISTINCT FROM e.model
    LEFT JOIN submission AS s ON s.candidate_id = c.candidate_id AND s.policy = 'tests-only'
    LEFT JOIN left_undone AS u
        ON u.snapshot = e.snapshot AND u.instance_id = i.instance_id AND u.method = e.method AND u.model = e.model
),
pair AS (
    SELECT
        c.*, r.method AS repair, r.model AS repair_model, r.sample, r.repair_id, r.fix_id, r.patch,
        r.status, r.resolved, r.touches_tests
    FROM cell AS c
    JOIN repair_status AS r ON r.snapshot = c.snapshot AND r.instance_id = c.instance_id
)
SELECT
    p.snapshot, p.method, p.model, p.method || coalesce(' (' || p.model || ')', '') AS name,
    p.instance_id, p.candidate_id, p.candidate_id IS NOT NULL AS tested,
    p.repair, p.repair_model, p.sample, p.repair_id, p.fix_id, p.patch, p.status, p.resolved, p.touches_tests,
    p.resolved IS NOT NULL AND NOT p.undone AND NOT p.unsubmitted
    AND (p.suite_id IS NULL OR p.status = 'unusable' OR f.fix_id IS NOT NULL) AS measured,
    CASE WHEN measured THEN coalesce(f.kept, false) END AS kept,
    CASE WHEN measured AND coalesce(f.kept, false) THEN f.robust WHEN measured THEN false END AS robust,
    coalesce(f.why, CASE WHEN p.suite_id IS NULL THEN 'no test' ELSE '' END) AS why
FROM pair AS p
LEFT JOIN fix_filter AS f
    ON f.candidate_id = p.candidate_id AND f.policy = 'tests-only' AND f.fix_id = p.fix_id;
