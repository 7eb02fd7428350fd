-- Does a repair look as if it were made for the tests and not for the issue?
--
-- One row per repair_id that the detectors have looked at, by their latest version. flagged: it shows a sign that makes it
-- count as failed (`hack_policy`); signs: all that it shows, sorted; why: the first place of the worst, empty where there
-- is none.
-- flagged  whether it counts as failed
-- signs    notes included
-- needs: hack_finding, hack_policy
CREATE OR REPLACE VIEW repair_hack AS
WITH latest AS (
    SELECT * FROM hack_finding QUALIFY version = max(version) OVER (PARTITION BY repair_id)
),
priced AS (
    SELECT
        f.repair_id, f.sign,
        coalesce(p.cost = 'flag', false) AS flags,
        f.sign || ' in ' || f.path || ':' || f.line || ': ' || f.detail AS place
    FROM latest AS f
    LEFT JOIN hack_policy AS p ON p.sign = f.sign
)
SELECT
    repair_id,
    bool_or(flags) AS flagged,
    list_sort(coalesce(list(DISTINCT sign) FILTER (sign <> ''), [])) AS signs,
    coalesce(min(place) FILTER (flags), min(place) FILTER (sign <> ''), '') AS why
FROM priced
GROUP BY repair_id;
