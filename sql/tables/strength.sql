-- How many wrong fixes of proposed repairs do a method's successes reject?
--
-- One row per snapshot, method and model, sample 0. Grader `paper`, policy `tests-only`.
-- solved                    as in table2
-- tried                     solved candidates that ran on a wrong fix of their instance
-- fixes                     pairs of such a candidate and such a fix
-- rejected                  pairs in which the candidate rejects the fix (`fix_rejection`)
-- strength                  rejection rate: rejected in % of fixes
-- strength_low, strength_high  Wilson's 95 % interval
-- rejects_all               tried candidates that reject every wrong fix they ran on
-- needs: method_instance, fix_rejection, wilson
CREATE OR REPLACE VIEW strength AS
WITH met AS (
    SELECT candidate_id, policy, count(*) AS fixes, count(*) FILTER (rejected) AS rejected
    FROM fix_rejection
    GROUP BY candidate_id, policy
)
SELECT
    m.snapshot, m.method, m.model,
    count(*) AS solved,
    count(r.candidate_id) AS tried,
    coalesce(sum(r.fixes), 0)::BIGINT AS fixes,
    coalesce(sum(r.rejected), 0)::BIGINT AS rejected,
    round(100.0 * sum(r.rejected) / nullif(sum(r.fixes), 0), 1) AS strength,
    round(100 * wilson_low(sum(r.rejected), sum(r.fixes)), 1) AS strength_low,
    round(100 * wilson_high(sum(r.rejected), sum(r.fixes)), 1) AS strength_high,
    count(*) FILTER (r.rejected = r.fixes) AS rejects_all
FROM method_instance('paper', 'tests-only') AS m
LEFT JOIN met AS r ON r.candidate_id = m.candidate_id AND r.policy = m.policy
WHERE m.solved
GROUP BY m.snapshot, m.method, m.model
HAVING tried > 0
ORDER BY m.snapshot, strength DESC, m.method, m.model;
