-- Is each proposed fix right, as far as the golden tests can tell?
--
-- One row per fix. status: `right` (every golden case that passes with the golden patch passes with the fix), `wrong`
-- (one does not; why names the first), `unmeasured` (a run is not there), `unusable` (it cannot be run; why says more).
-- why  the golden case that fails on the fix, or what is missing
-- kept: beside the runs
-- needs: proposed_fix, fix_suite_run, golden_suite, golden_case, case_outcome
CREATE OR REPLACE VIEW fix_status AS
WITH golden AS (
    SELECT f.fix_id, f.instance_key, r.run_key
    FROM proposed_fix AS f
    JOIN golden_suite AS g ON g.instance_key = f.instance_key
    JOIN fix_suite_run AS r ON r.fix_id = f.fix_id AND r.suite_id = g.suite_id
),
held AS (
    SELECT
        g.fix_id,
        count(*) AS cases,
        min(c.case_id || ': ' || coalesce(o.outcome, 'missing'))
            FILTER (coalesce(o.outcome, 'missing') <> 'passed') AS why
    FROM golden AS g
    JOIN golden_case AS c ON c.instance_key = g.instance_key AND c.after = 'passed'
    LEFT JOIN case_outcome AS o ON o.run_key = g.run_key AND o.case_id = c.case_id
    GROUP BY g.fix_id
)
SELECT
    f.fix_id, f.instance_key, f.instance_id, f.method,
    CASE
        WHEN f.problem <> '' THEN 'unusable'
        WHEN h.cases IS NULL THEN 'unmeasured'
        WHEN h.why IS NULL THEN 'right'
        ELSE 'wrong'
    END AS status,
    CASE WHEN f.problem <> '' THEN f.problem ELSE coalesce(h.why, '') END AS why
FROM proposed_fix AS f
LEFT JOIN held AS h ON h.fix_id = f.fix_id;
