-- Which method solved which dated instance, and how long after its model's cutoff was the instance opened?
--
-- Like `ability_cell`, for methods whose model has a known cutoff (`model_fact`), separately for each snapshot.
-- years   from the end of the cutoff's last day to the pull request; negative before the cutoff
-- solved  whether it is solved; with `hold`, whether it is robust (no row where a success was not checked)
-- needs: method_instance, used_instance, model_fact
CREATE OR REPLACE MACRO time_cell(for_grader, hold) AS TABLE
SELECT
    m.snapshot, m.method, m.model, m.instance_id, i.repo,
    (epoch(i.created_at) - epoch(f.cutoff)) / (365.25 * 86400) AS years,
    CASE WHEN hold THEN m.robust ELSE m.solved END AS solved
FROM method_instance(for_grader, 'tests-only') AS m
JOIN model_fact AS f ON f.model = m.model AND f.cutoff IS NOT NULL
JOIN used_instance AS i ON i.snapshot = m.snapshot AND i.instance_id = m.instance_id AND i.created_at IS NOT NULL
WHERE i.problem_statement_mode IS DISTINCT FROM 'reconstructed' AND m.measured AND m.method NOT IN ('golden', 'nop') AND CASE WHEN hold THEN m.robust ELSE m.solved END IS NOT NULL
ORDER BY m.snapshot, m.method, m.model, m.instance_id;
