-- Which repair attempts accessed forbidden information?
--
-- One row per finding in the trajectory of a finished attempt (`repair_audit`), suspects first. Tests that an attempt
-- wrote are in `suspects`, as for other methods.
-- cost      `suspect` where it searched for the answer, `note` where it may have (`trajectory_policy`)
-- tests     source of the tests that it was given; text that they add is no finding
-- resolved  whether the golden tests call its fix right; null where unmeasured
-- step      0-based position in the trajectory
-- needs: repair_audit, repair_attempt, counted_repair, fix_status, trajectory_policy
CREATE OR REPLACE VIEW repair_suspects AS
SELECT
    t.snapshot, t.instance_id, t.method, t.model, t.attempt_id, t.tests,
    coalesce(p.cost, 'suspect') AS cost, a.rule, a.step, a.detail,
    CASE coalesce(f.status, 'unmeasured') WHEN 'unmeasured' THEN NULL ELSE f.status = 'resolved' END AS resolved
FROM repair_audit AS a
JOIN repair_attempt AS t ON t.attempt_id = a.attempt_id
LEFT JOIN trajectory_policy AS p ON p.rule = a.rule
LEFT JOIN counted_repair AS r ON r.source = t.attempt_id AND r.snapshot = t.snapshot
LEFT JOIN fix_status AS f ON f.fix_id = r.fix_id
ORDER BY t.snapshot, cost DESC, t.instance_id, t.method, t.model, a.step;
