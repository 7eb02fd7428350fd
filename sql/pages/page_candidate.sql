-- What does the page of each candidate say of it?
--
-- FROM page_candidate('2026-11', false): one row per candidate that counts, of all samples, under the policy that tables
-- read. verdicts: of each grader {grader, measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason,
-- robust, failed_guards}; outcome: by the grader `paper`, `held` (solved and robust), `refuted` (solved, but a
-- guard fails), `solved` (guards are not all measured), `missed`, `malformed` (not well-formed) or `unmeasured`; guards: of each guard {guard, result, why} for the grader `paper`; delta_c: change
-- coverage (`paper`) with its two numbers; fixes, rejected: wrong fixes that it met, and rejects; reasons, why: what the
-- audits suspect; the last columns are those of its `generation`. patch, applied (what was run) and trajectory are null
-- where it is golden or was told what is golden, and the instance is held out, unless `with_golden`.
-- needs: counted_candidate, counted_policy, submission, suite, robust_verdict, guard_outcome, change_coverage, fix_rejection
-- needs: suspected_candidate, labelled_generation, held_out, method_call
CREATE OR REPLACE MACRO page_candidate(for_snapshot, with_golden) AS TABLE
WITH entry AS (
    SELECT c.*, p.policy
    FROM counted_candidate AS c
    LEFT JOIN counted_policy('tests-only') AS p ON p.candidate_id = c.candidate_id
    WHERE c.snapshot = for_snapshot
),
judged AS (
    SELECT
        candidate_id, policy,
        max(CASE
            WHEN grader <> 'paper' THEN NULL
            WHEN NOT measured THEN 'unmeasured'
            WHEN robust THEN 'held'
            WHEN NOT robust AND solved THEN 'refuted'
            WHEN solved THEN 'solved'
            WHEN well_formed THEN 'missed'
            ELSE 'malformed'
        END) AS outcome,
        list({
            'grader': grader, 'measured': measured, 'well_formed': well_formed, 'solved': solved,
            'fail_to_any': fail_to_any, 'fail_to_pass': fail_to_pass, 'pass_to_pass': pass_to_pass, 'reason': reason,
            'robust': robust, 'failed_guards': failed_guards
        } ORDER BY grader) AS verdicts
    FROM robust_verdict
    WHERE snapshot = for_snapshot
    GROUP BY candidate_id, policy
),
held AS (
    SELECT candidate_id, policy, list({'guard': guard, 'result': result, 'why': why} ORDER BY guard) AS guards
    FROM guard_outcome
    WHERE snapshot = for_snapshot AND grader = 'paper'
    GROUP BY candidate_id, policy
),
met AS (
    SELECT candidate_id, policy, count(*) AS fixes, count(*) FILTER (rejected) AS rejected
    FROM fix_rejection
    GROUP BY candidate_id, policy
),
work AS (
    SELECT
        candidate_id, status, path, retries, calls, seconds, trajectory, started_at,
        list_has_any(given, ['golden-patch', 'modified-files', 'test-file']) AS told
    FROM labelled_generation
    WHERE snapshot = for_snapshot AND candidate_id IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY candidate_id ORDER BY finished_at DESC, generation_id) = 1
)
SELECT
    e.candidate_id, e.instance_id, e.method, e.model, e.sample, e.provenance, e.source, e.created_at, e.made_at,
    e.method || coalesce(' (' || e.model || ')', '') AS name,
    e.method IN ('golden', 'nop') AS control,
    e.policy,
    o.held_out AND NOT with_golden AND (e.provenance = 'oracle' OR e.method = 'golden' OR coalesce(g.told, false))
        AS withheld,
    s.well_formed, s.reason AS malformed, s.detail AS malformed_detail, s.rung, s.stripped,
    CASE WHEN NOT withheld THEN e.patch END AS patch,
    CASE WHEN NOT withheld THEN u.patch END AS applied,
    v.verdicts, coalesce(v.outcome, 'unmeasured') AS outcome, coalesce(h.guards, []) AS guards,
    d.delta_c, d.numerator, d.denominator,
    m.fixes, m.rejected,
    coalesce(x.reasons, []) AS reasons, x.why,
    g.status, g.path, g.retries, g.calls, g.seconds, g.started_at,
    CASE WHEN NOT withheld THEN g.trajectory END AS trajectory
FROM entry AS e
JOIN held_out AS o ON o.snapshot = e.snapshot AND o.instance_id = e.instance_id
LEFT JOIN submission AS s ON s.candidate_id = e.candidate_id AND s.policy = e.policy
LEFT JOIN suite AS u ON u.suite_id = s.suite_id
LEFT JOIN judged AS v ON v.candidate_id = e.candidate_id AND v.policy = e.policy
LEFT JOIN held AS h ON h.candidate_id = e.candidate_id AND h.policy = e.policy
LEFT JOIN change_coverage AS d
    ON d.candidate_id = e.candidate_id AND d.policy = e.policy AND d.definition = 'paper' AND d.measured
LEFT JOIN met AS m ON m.candidate_id = e.candidate_id AND m.policy = e.policy
LEFT JOIN suspected_candidate AS x ON x.candidate_id = e.candidate_id AND x.policy = e.policy
LEFT JOIN work AS g ON g.candidate_id = e.candidate_id
ORDER BY e.instance_id, e.method <> 'golden', e.method <> 'nop', e.method, e.model, e.sample;
