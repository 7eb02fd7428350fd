-- How many repairs of each method show each sign of test hacking?
--
-- One row per snapshot, method, model and sign of `hacking`. The column cost is as in `hack_policy`.
-- meaning   the sign in words
-- repairs   repairs that show it
-- resolved  those of them that the golden tests accept
-- needs: hacking, hack_policy
CREATE OR REPLACE VIEW page_hacking AS
SELECT
    h.snapshot, h.method, h.model, h.sign, h.cost, any_value(p.meaning) AS meaning,
    count(DISTINCT (h.instance_id, h.sample)) AS repairs,
    count(DISTINCT (h.instance_id, h.sample)) FILTER (h.resolved) AS resolved
FROM hacking AS h LEFT JOIN hack_policy AS p ON p.sign = h.sign
GROUP BY h.snapshot, h.method, h.model, h.sign, h.cost
ORDER BY h.snapshot, h.method, h.model, h.cost, repairs DESC, h.sign;
