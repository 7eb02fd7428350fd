-- How many calls does a method need for its successes?
--
-- One row per snapshot, method, model and number of calls (figure 8 b: also `figure8`). Grader `paper`, policy
-- `tests-only`, sample 0.
-- calls   number of calls
-- ended   instances that finished with at most this number of calls
-- solved  solved ones of them
-- S       solved ones of them, as a share of all instances of the method, in %
-- needs: labelled_generation, method_instance
CREATE OR REPLACE VIEW calls_to_success AS
WITH work AS (
    SELECT g.snapshot, g.label AS method, g.model, g.instance_id, max(g.calls) AS calls, bool_or(m.solved) AS solved
    FROM labelled_generation AS g
    JOIN method_instance('paper', 'tests-only') AS m
        ON m.snapshot = g.snapshot AND m.method = g.label AND m.model = g.model AND m.instance_id = g.instance_id
    WHERE g.sample = 0
    GROUP BY ALL
),
step AS (
    SELECT
        snapshot, method, model, calls, count(*) AS ended, count(*) FILTER (solved) AS solved
    FROM work
    GROUP BY ALL
)
SELECT
    snapshot, method, model, calls,
    sum(ended) OVER upto AS ended,
    sum(solved) OVER upto AS solved,
    round(100.0 * sum(solved) OVER upto / sum(ended) OVER (PARTITION BY snapshot, method, model), 1) AS S
FROM step
WINDOW upto AS (
    PARTITION BY snapshot, method, model ORDER BY calls ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
)
ORDER BY snapshot, method, model, calls;
