-- Which methods together solve most instances, for each number of methods?
--
-- One row per snapshot and size, from `overlap`. The last row is the ideal ensemble of all methods.
-- methods        the subset of this size that solves most instances; of equal subsets the first by name
-- solved         instances that at least one of them solves
-- gain           over the best subset that is one smaller
-- share          of all instances that the methods solve together, in %
-- solved_robust  the same for robust successes; null where a success was not fully checked
-- needs: overlap
CREATE OR REPLACE VIEW ensemble AS
WITH best AS (
    SELECT snapshot, size, methods, by_any AS solved, by_any_robust AS solved_robust
    FROM overlap
    QUALIFY row_number() OVER (PARTITION BY snapshot, size ORDER BY by_any DESC, methods) = 1
)
SELECT
    snapshot, size, methods, solved,
    solved - coalesce(lag(solved) OVER (PARTITION BY snapshot ORDER BY size), 0) AS gain,
    round(100.0 * solved / nullif(max(solved) OVER (PARTITION BY snapshot), 0), 1) AS share,
    solved_robust
FROM best
ORDER BY snapshot, size;
