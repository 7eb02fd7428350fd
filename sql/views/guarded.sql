-- Which verdicts still say solved when the guards have had their say?
--
-- Every column of `verdict`, and: guarded: solved, and no guard failed; null where the verdict is, and where a guard
-- that nothing speaks against was not measured. failed_guards: their names, sorted.
-- needs: verdict, guard_outcome
CREATE OR REPLACE VIEW guarded AS
WITH held AS (
    SELECT
        snapshot, candidate_id, policy, grader,
        coalesce(list(guard ORDER BY guard) FILTER (result = 'failed'), []) AS failed_guards,
        bool_or(result = 'not_measured') AS unmeasured
    FROM guard_outcome
    GROUP BY snapshot, candidate_id, policy, grader
)
SELECT
    v.*,
    coalesce(h.failed_guards, []) AS failed_guards,
    CASE
        WHEN v.solved AND len(h.failed_guards) = 0 AND h.unmeasured THEN NULL
        WHEN v.solved THEN len(h.failed_guards) = 0
        ELSE v.solved
    END AS guarded
FROM verdict AS v
LEFT JOIN held AS h
    ON h.snapshot = v.snapshot AND h.candidate_id = v.candidate_id AND h.policy = v.policy AND h.grader = v.grader;
