-- Which repairs show signs of test hacking, and do the golden tests accept them?
--
-- One row per finding in a repair that tables count (Table 7 of the TDFlow paper lists the signs).
-- cost      `flag` makes the repair count as failed in `strict_rate` of `repair_rate`; `note` does not
-- resolved  by the golden tests, which run without the repair's changes of tests; null where unmeasured
-- place     path:line of the file after the repair; line 0 is the whole file
-- detail    the code concerned
-- needs: hack_finding, hack_policy, repair_status
CREATE OR REPLACE VIEW hacking AS
SELECT
    r.snapshot, r.method, r.model, r.instance_id, r.sample, f.sign, coalesce(p.cost, 'note') AS cost, r.resolved,
    f.path || ':' || f.line AS place, f.detail
FROM repair_status AS r
JOIN (
    FROM hack_finding QUALIFY version = max(version) OVER (PARTITION BY repair_id)
) AS f ON f.repair_id = r.repair_id AND f.sign <> ''
LEFT JOIN hack_policy AS p ON p.sign = f.sign
ORDER BY r.snapshot, r.method, r.model, r.instance_id, r.sample, f.sign, place;
