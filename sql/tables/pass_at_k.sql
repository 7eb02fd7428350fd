-- How much do more samples help? Unbiased pass@k of each method with several samples.
--
-- One row per snapshot, method, model, grader, policy and k, up to the largest number of samples of an instance.
-- n                 instances that count; an instance without a candidate counts as 0
-- unmeasured        instances with fewer than k measured samples, excluded
-- pass_at_k_robust  the same for robust successes, in %; null where a success was not fully checked
-- k                 number of samples drawn
-- pass_at_k         in %, unbiased
-- any               in %, instances that some measured sample solves (the paper's Pass@5 takes the best sample)
-- needs: candidate_result, robust_verdict, used_instance, unbiased_pass, left_undone
CREATE OR REPLACE VIEW pass_at_k AS
WITH sampled AS (
    SELECT
        snapshot, method, model, instance_id, grader, policy,
        count(*) FILTER (measured) AS samples,
        count(*) FILTER (solved) AS hits,
        count(*) FILTER (robust) AS kept,
        count(*) FILTER (solved AND robust IS NULL) AS unchecked
    FROM robust_verdict
    GROUP BY ALL
),
entry AS (
    SELECT snapshot, method, model, grader, policy, max(samples) AS most FROM sampled GROUP BY ALL
),
asked AS (
    SELECT e.*, unnest(range(1, most + 1)) AS k FROM entry AS e
),
submitted AS (
    SELECT DISTINCT snapshot, method, model, instance_id FROM candidate_result
),
cell AS (
    SELECT
        a.snapshot, a.method, a.model, a.grader, a.policy, a.k,
        CASE WHEN b.instance_id IS NULL AND u.instance_id IS NULL THEN 0.0
            ELSE unbiased_pass(s.samples, s.hits, a.k) END AS share,
        CASE WHEN b.instance_id IS NULL AND u.instance_id IS NULL THEN 0.0
            ELSE unbiased_pass(s.samples, s.kept, a.k) END AS kept_share,
        coalesce(s.unchecked, 0) AS unchecked,
        coalesce(s.hits, 0) > 0 AS hit
    FROM asked AS a
    JOIN (SELECT DISTINCT snapshot, instance_id FROM used_instance) AS i ON i.snapshot = a.snapshot
    LEFT JOIN sampled AS s
        ON s.snapshot = a.snapshot AND s.instance_id = i.instance_id AND s.method = a.method
        AND s.model IS NOT DISTINCT FROM a.model AND s.grader = a.grader AND s.policy = a.policy
    LEFT JOIN submitted AS b
        ON b.snapshot = a.snapshot AND b.instance_id = i.instance_id AND b.method = a.method
        AND b.model IS NOT DISTINCT FROM a.model
    LEFT JOIN left_undone AS u
        ON u.snapshot = a.snapshot AND u.instance_id = i.instance_id AND u.method = a.method AND u.model = a.model
)
SELECT
    snapshot, method, model, grader, policy, k,
    count(share) AS n,
    count(*) - count(share) AS unmeasured,
    round(100 * avg(share), 1) AS pass_at_k,
    CASE WHEN sum(unchecked) = 0 THEN round(100 * avg(kept_share), 1) END AS pass_at_k_robust,
    round(100.0 * count(*) FILTER (hit AND share IS NOT NULL) / nullif(count(share), 0), 1) AS "any"
FROM cell
GROUP BY snapshot, method, model, grader, policy, k
ORDER BY snapshot, grader, policy, method, model, k;
