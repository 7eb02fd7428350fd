-- Which verdicts still say solved when the guards have had their say?
--
-- Every column of `verdict`, and: guarded: solved, and no guard failed; null where the verdict is, and where a guard
-- that nothing speaks against was not measured. failed_guards: their names, sorted. chance: with which probability the
-- guards of a success that holds pass a test that only guesses (`guard_chance`).
-- needs: verdict, guard_summary
CREATE OR REPLACE VIEW guarded AS
SELECT
    v.*,
    CASE WHEN v.solved THEN h.failed_guards ELSE [] END AS failed_guards,
    CASE
        WHEN v.solved AND len(h.failed_guards) = 0 AND h.unmeasured THEN NULL
        WHEN v.solved THEN len(h.failed_guards) = 0
        ELSE v.solved
    END AS guarded,
    CASE WHEN v.solved AND len(h.failed_guards) = 0 THEN h.chance END AS chance
FROM verdict AS v
LEFT JOIN guard_summary AS h
    ON h.candidate_id = v.candidate_id AND h.policy = v.policy AND h.grader = v.grader;
