-- With which probability would the guards of a submission pass somebody who cannot tell the sides of the fix apart?
--
-- One row per (candidate_id, policy) with guard runs, and its instance_key. before_like, after_like: placebos and paraphrases that
-- were run in the secret order of `guard_plan`. chance: 1 / C(before_like + after_like, before_like), what is left to a test that
-- keeps count of its runs, for it has to be right on every one of them; null where no plan was drawn before they ran. A
-- `repeat` does not count: the base commit is known to everybody, and code that judged may be known again. So chance is
-- 1 where a side could not be edited.
-- kept: beside the runs
-- needs: guard_run, guard_plan
CREATE OR REPLACE VIEW guard_chance AS
SELECT
    g.instance_key, g.candidate_id, g.policy,
    count(*) FILTER (g.guard = 'placebo' AND p.suite_id IS NOT NULL) AS before_like,
    count(*) FILTER (g.guard = 'paraphrase' AND p.suite_id IS NOT NULL) AS after_like,
    CASE
        WHEN count(p.suite_id) > 0
            THEN factorial(before_like::INT) * factorial(after_like::INT) / factorial((before_like + after_like)::INT)
    END AS chance
FROM guard_run AS g
LEFT JOIN guard_plan AS p ON p.suite_id = g.suite_id AND g.started_at >= p.drawn_at
GROUP BY g.instance_key, g.candidate_id, g.policy;
