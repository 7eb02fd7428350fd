-- What is the verdict of the public harness, by the rules of `harness_rules` with this `leftover`?
--
-- Columns as in `paper`. Sets of cases are compared with suite `none` on the candidate's files.
-- Source: the harness's grading and table scripts, commit of 2026-07-23 (metrics: graders).
-- well_formed     the patch applies, and the candidate's runs report at least a tenth of the cases of suite `none`
-- solved          F2P contains F2P of suite `none` and at least one more case; every P2F and F2F case is also one in
--                 suite `none`; well_formed is not required
-- fail_to_any     some new F2P or F2F
-- fail_to_pass    some new F2P
-- pass_to_pass    some new P2P
-- counted         false for a candidate that a later one replaced
-- grader          name of the grader
-- only_t          robustness checks compare the cases of T alone
-- accepts_golden  the golden tests of every valid instance are solved by it
-- needs: submission_status, harness_case, harness_rules
CREATE OR REPLACE MACRO harness_verdict(for_grader, leftover) AS TABLE
WITH transition AS (FROM harness_transition(for_grader, leftover)),
outcome_class AS (FROM harness_outcome(for_grader)),
moved AS (
    SELECT
        h.candidate_id, h.policy,
        n.transition AS base, c.transition AS own,
        nb.seen OR na.seen AS base_seen, cb.seen OR ca.seen AS own_seen
    FROM harness_case AS h
    JOIN transition AS n ON n.before = h.none_before AND n.after = h.none_after
    JOIN transition AS c ON c.before = h.candidate_before AND c.after = h.candidate_after
    JOIN outcome_class AS nb ON nb.outcome = h.none_before
    JOIN outcome_class AS na ON na.outcome = h.none_after
    JOIN outcome_class AS cb ON cb.outcome = h.candidate_before
    JOIN outcome_class AS ca ON ca.outcome = h.candidate_after
),
sets AS (
    SELECT
        candidate_id, policy,
        count(*) FILTER (own_seen) >= 0.1 * count(*) FILTER (base_seen) AS tenth,
        bool_or(base = 'fail_to_pass' AND own <> base) AS lost_f2p,
        bool_or(own = 'fail_to_pass' AND own <> base) AS new_f2p,
        bool_or(own = 'pass_to_fail' AND own <> base) AS new_p2f,
        bool_or(own = 'fail_to_fail' AND own <> base) AS new_f2f,
        bool_or(own = 'pass_to_pass' AND own <> base) AS new_p2p
    FROM moved
    GROUP BY candidate_id, policy
)
SELECT
    s.candidate_id, s.policy, s.instance_key, s.instance_id, s.snapshot, s.method, s.model, s.sample, s.counted,
    for_grader AS grader,
    s.measured,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.tenth, true) END AS well_formed,
    CASE WHEN s.measured THEN s.applied
        AND coalesce(t.new_f2p AND NOT t.lost_f2p AND NOT t.new_p2f AND NOT t.new_f2f, false) END AS solved,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.new_f2p OR t.new_f2f, false) END AS fail_to_any,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.new_f2p, false) END AS fail_to_pass,
    CASE WHEN s.measured THEN s.applied AND coalesce(t.new_p2p, false) END AS pass_to_pass,
    CASE
        WHEN s.reason <> '' THEN s.reason
        WHEN t.candidate_id IS NULL THEN 'no-cases'
        WHEN t.new_f2f THEN 'new-fail-to-fail'
        WHEN t.new_p2f THEN 'new-pass-to-fail'
        WHEN t.lost_f2p THEN 'lost-fail-to-pass'
        WHEN NOT t.new_f2p THEN 'no-fail-to-pass'
        ELSE ''
    END AS reason
FROM submission_status AS s
LEFT JOIN sets AS t ON t.candidate_id = s.candidate_id AND t.policy = s.policy;
