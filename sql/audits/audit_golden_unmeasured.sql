-- Audit, must be empty: golden tests that cannot be measured, without a row in `undone` or an invalid validation.
--
-- what  `silent` no flow run recorded the failure, and no validation calls the instance invalid · `measured` a grader
--       still counts a candidate of the instance
-- needs: golden_unmeasured, undone, validation, verdict
CREATE OR REPLACE VIEW audit_golden_unmeasured AS
SELECT 'silent' AS what, g.snapshot, g.instance_id, g.reason, g.detail
FROM golden_unmeasured AS g
WHERE EXISTS (FROM verdict AS v WHERE v.snapshot = g.snapshot AND v.instance_id = g.instance_id)
    AND NOT EXISTS (FROM undone AS u WHERE u.scope = g.snapshot AND u.subject = g.instance_id)
    AND NOT EXISTS (FROM validation AS w WHERE w.instance_key = g.instance_key AND w.reason <> '')
UNION ALL
SELECT DISTINCT 'measured', v.snapshot, v.instance_id, g.reason, g.detail
FROM verdict AS v
JOIN golden_unmeasured AS g ON g.snapshot = v.snapshot AND g.instance_key = v.instance_key
WHERE v.measured;
