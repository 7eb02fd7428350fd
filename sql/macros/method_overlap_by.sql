-- Which instances does each non-empty subset of methods solve, for any grader and policy?
--
-- One row per snapshot and subset of the 12 methods that solve most, without `golden` and `nop` (section 5.4, figure
-- 6). An unmeasured instance counts as not solved by that method.
-- methods                   names in the subset
-- size                      number of methods in the subset
-- exactly                   instances solved by all of them and by no other method
-- by_any                    instances solved by at least one of them (an ideal ensemble)
-- by_all                    instances solved by each of them
-- exactly_robust, by_any_robust, by_all_robust  the same for robust successes; null for a subset with a success that
--                           was not fully checked
-- needs: method_instance
CREATE OR REPLACE MACRO method_overlap_by(for_grader, for_policy) AS TABLE
WITH result AS (
    SELECT snapshot, name, instance_id, coalesce(solved, false) AS solved, robust
    FROM method_instance(for_grader, for_policy)
    WHERE method NOT IN ('golden', 'nop')
),
ranked AS (
    SELECT
        snapshot, name,
        row_number() OVER (PARTITION BY snapshot ORDER BY count(*) FILTER (solved) DESC, name) - 1 AS place
    FROM result
    GROUP BY snapshot, name
    QUALIFY place < 12
),
solver AS (
    SELECT
        r.snapshot, r.instance_id,
        sum(1 << k.place)::BIGINT AS mask,
        coalesce(sum(1 << k.place) FILTER (r.robust), 0)::BIGINT AS kept,
        coalesce(sum(1 << k.place) FILTER (r.robust IS NULL), 0)::BIGINT AS unchecked
    FROM result AS r JOIN ranked AS k ON k.snapshot = r.snapshot AND k.name = r.name
    WHERE r.solved
    GROUP BY r.snapshot, r.instance_id
),
weight AS (
    SELECT snapshot, mask, kept, unchecked, count(*) AS instances FROM solver GROUP BY ALL
),
named AS (
    SELECT snapshot, list(name ORDER BY place) AS names, count(*) AS methods FROM ranked GROUP BY snapshot
),
subset AS (
    SELECT snapshot, unnest(range(1, 1 << methods)) AS mask FROM named
),
counted AS (
    SELECT
        s.snapshot, s.mask,
        coalesce(sum(w.instances) FILTER (w.mask = s.mask), 0)::BIGINT AS exactly,
        coalesce(sum(w.instances) FILTER (w.mask & s.mask <> 0), 0)::BIGINT AS by_any,
        coalesce(sum(w.instances) FILTER (w.mask & s.mask = s.mask), 0)::BIGINT AS by_all,
        coalesce(bool_or(w.unchecked & s.mask <> 0), false) AS open,
        CASE WHEN NOT open THEN coalesce(sum(w.instances) FILTER (w.kept = s.mask), 0)::BIGINT END AS exactly_robust,
        CASE WHEN NOT open THEN coalesce(sum(w.instances) FILTER (w.kept & s.mask <> 0), 0)::BIGINT END AS by_any_robust,
        CASE WHEN NOT open THEN coalesce(sum(w.instances) FILTER (w.kept & s.mask = s.mask), 0)::BIGINT END AS by_all_robust
    FROM subset AS s LEFT JOIN weight AS w ON w.snapshot = s.snapshot
    GROUP BY s.snapshot, s.mask
)
SELECT
    c.snapshot,
    [n.names[i] for i in range(1, len(n.names) + 1) if c.mask & (1 << (i - 1)) <> 0] AS methods,
    bit_count(c.mask) AS size,
    c.* EXCLUDE (snapshot, mask, open)
FROM counted AS c JOIN named AS n ON n.snapshot = c.snapshot
ORDER BY c.snapshot, size, methods;
