-- How many of a candidate's tests reproduce the issue?
--
-- One row per measured candidate that tables count (sample 0, policy `tests-only`, without the controls).
-- tests               cases of T
-- f2p, p2p, p2f, f2f  cases that fail or pass before and after the golden patch, as the grader `paper` counts outcomes
-- other               skipped, missing or expected to fail on a side
-- btr                 Bad Test Rate: share of the tests that are not f2p (TDFlow paper, section 4.2); null without
--                     tests
-- needs: candidate_result, used_instance
CREATE OR REPLACE VIEW test_quality AS
SELECT
    c.snapshot, c.instance_id, i.repo, c.method, c.model, c.candidate_id,
    c.tests, c.f2p, c.p2p, c.p2f, c.f2f,
    c.tests - c.f2p - c.p2p - c.p2f - c.f2f AS other,
    (c.tests - c.f2p) / nullif(c.tests, 0)::DOUBLE AS btr
FROM candidate_result AS c
JOIN (SELECT DISTINCT snapshot, instance_id, repo FROM used_instance) AS i
    ON i.snapshot = c.snapshot AND i.instance_id = c.instance_id
WHERE c.grader = 'paper' AND c.policy = 'tests-only' AND c.tests IS NOT NULL
    AND c.sample = 0 AND c.method NOT IN ('golden', 'nop');
