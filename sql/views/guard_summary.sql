-- What do the guards of each submission come to, solved or not, as each grader counts outcomes?
--
-- One row per (candidate_id, policy, grader) of a well-formed submission: failed_guards: names, sorted; unmeasured: a
-- guard was not measured; chance: as in `guard_chance`.
-- needs: guard_result, guard_chance
CREATE OR REPLACE VIEW guard_summary AS
SELECT
    g.instance_key, g.candidate_id, g.policy, g.grader,
    coalesce(list(g.guard ORDER BY g.guard) FILTER (g.result = 'failed'), []) AS failed_guards,
    bool_or(g.result = 'not_measured') AS unmeasured,
    any_value(c.chance) AS chance
FROM guard_result AS g
LEFT JOIN guard_chance AS c ON c.candidate_id = g.candidate_id AND c.policy = g.policy
GROUP BY g.instance_key, g.candidate_id, g.policy, g.grader;
