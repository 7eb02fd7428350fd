-- How many of a candidate's tests reproduce the issue?
--
-- One row per candidate that tables count (sample 0, policy `tests-only`, the controls left out) and was measured. tests: cases of T;
-- f2p, p2p, p2f, f2f: those that fail or pass before and after the golden patch, as the grader `paper` counts outcomes;
-- other: skipped, missing or expected to fail on a side. btr: Bad Test Rate, the share of the tests that are not f2p
-- (TDFlow paper, section 4.2); null without tests.
-- needs: counted_candidate, used_instance, submission_run, submission_case, transition
CREATE OR REPLACE VIEW test_quality AS
SELECT
    c.snapshot, c.instance_id, i.repo, c.method, c.model, c.candidate_id,
    count(s.case_id) AS tests,
    count(*) FILTER (t.transition = 'fail_to_pass') AS f2p,
    count(*) FILTER (t.transition = 'pass_to_pass') AS p2p,
    count(*) FILTER (t.transition = 'pass_to_fail') AS p2f,
    count(*) FILTER (t.transition = 'fail_to_fail') AS f2f,
    tests - f2p - p2p - p2f - f2f AS other,
    (tests - f2p) / nullif(tests, 0)::DOUBLE AS btr
FROM counted_candidate AS c
JOIN (SELECT DISTINCT snapshot, instance_id, repo FROM used_instance) AS i
    ON i.snapshot = c.snapshot AND i.instance_id = c.instance_id
JOIN submission_run AS r ON r.candidate_id = c.candidate_id AND r.policy = 'tests-only' AND r.measured
LEFT JOIN submission_case AS s ON s.candidate_id = c.candidate_id AND s.policy = 'tests-only' AND s.in_t
LEFT JOIN transition AS t ON t.grader = 'paper' AND t.before = s.candidate_before AND t.after = s.candidate_after
WHERE c.sample = 0 AND c.method NOT IN ('golden', 'nop')
GROUP BY c.snapshot, c.instance_id, i.repo, c.method, c.model, c.candidate_id;
