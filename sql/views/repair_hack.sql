-- Do the detectors find signs that a repair was made for the tests and not for the issue?
--
-- One row per repair_id that the detectors have checked, by their latest version.
-- flagged  it shows a sign that makes it count as failed (`hack_policy`)
-- signs    all signs that it shows, notes included, sorted
-- why      the first place of a flagged sign, else of any sign; empty where there is none
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
