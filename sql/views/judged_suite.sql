-- Which suites judge the proposed fixes of a snapshot's instances?
--
-- One row per instance: its golden tests, and the candidates that the grader `paper` calls solved.
-- golden  suite_id of the golden tests
-- solved  suite_ids of the solved candidates
-- needs: golden_suite, task_instance, verdict, submission
CREATE OR REPLACE VIEW judged_suite AS
SELECT t.snapshot, t.instance_id, g.suite_id AS golden, list(s.suite_id ORDER BY s.suite_id) AS solved
FROM task_instance AS t
JOIN golden_suite AS g ON g.instance_key = t.instance_key
LEFT JOIN verdict AS v
    ON v.snapshot = t.snapshot AND v.instance_id = t.instance_id AND v.grader = 'paper' AND v.solved
LEFT JOIN submission AS s ON s.candidate_id = v.candidate_id AND s.policy = v.policy
GROUP BY ALL;
