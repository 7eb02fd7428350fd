-- Which data does the page of each candidate show?
--
-- FROM page_candidate('2026-11', false). One row per counted candidate, all samples, under the policy that tables read.
-- The last columns come from the candidate's `generation`.
-- For an embargoed candidate with `withheld`, patch, applied and trajectory are null, and guards and decoys are empty.
-- These are golden candidates and candidates whose method saw the golden side.
-- For other candidates of an embargoed instance, detail, why and patch of decoys are null. The field why of a check
-- that names the golden patch is null too. `with_golden` shows all of it.
-- verdicts         per grader {grader, measured, well_formed, solved, fail_to_any, fail_to_pass, pass_to_pass, reason,
--                  robust, failed_guards}
-- outcome          by the grader `paper`: `held` (solved and robust), `refuted` (solved, but a robustness check fails),
--                  `solved` (some check is unmeasured), `missed`, `malformed` (not well-formed) or `unmeasured`
-- guards           per robustness check of a success {guard, result, why}, for the grader `paper`
-- decoys           per chosen decoy {kind, detail, rejected, why, patch}; with a patch where the success accepts it
-- applied          the patch that ran
-- delta_c          change coverage (`paper`), with its numerator and denominator
-- fixes, rejected  wrong fixes that the candidate ran on, and those that it rejects
-- reasons, why     findings of the audits
-- needs: counted_candidate, counted_policy, submission, suite, robust_verdict, guard_outcome, decoy_rejection, decoy
-- needs: chosen_decoy, change_coverage, fix_rejection, suspected_candidate, labelled_generation, held_out, method_call
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
secret AS (
    SELECT instance_key, held_out AND NOT with_golden AS hidden FROM held_out WHERE snapshot = for_snapshot
),
checked AS (
    SELECT
        g.candidate_id, g.policy,
        list({
            'guard': g.guard, 'result': g.result,
            'why': CASE WHEN NOT (s.hidden AND (g.guard = 'decoy' OR g.result = 'not_applicable')) THEN g.why END
        } ORDER BY g.guard) AS guards
    FROM guard_outcome AS g
    JOIN secret AS s ON s.instance_key = g.instance_key
    WHERE g.snapshot = for_snapshot AND g.grader = 'paper'
    GROUP BY g.candidate_id, g.policy
),
tried AS (
    SELECT
        r.candidate_id, r.policy,
        list({
            'kind': r.kind,
            'detail': CASE WHEN NOT s.hidden THEN c.detail END,
            'rejected': r.rejected,
            'why': CASE WHEN NOT s.hidden THEN r.why END,
            'patch': CASE WHEN NOT s.hidden AND NOT r.rejected THEN d.patch END
        } ORDER BY r.place) AS decoys
    FROM decoy_rejection AS r
    JOIN chosen_decoy AS c ON c.fix_id = r.fix_id
    JOIN decoy AS d ON d.fix_id = r.fix_id
    JOIN secret AS s ON s.instance_key = r.instance_key
    JOIN robust_verdict AS v
        ON v.snapshot = for_snapshot AND v.candidate_id = r.candidate_id AND v.policy = r.policy
        AND v.grader = 'paper' AND v.solved
    GROUP BY r.candidate_id, r.policy
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
    v.verdicts, coalesce(v.outcome, 'unmeasured') AS outcome,
    coalesce(CASE WHEN NOT withheld THEN h.guards END, []) AS guards,
    coalesce(CASE WHEN NOT withheld THEN t.decoys END, []) AS decoys,
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
LEFT JOIN checked AS h ON h.candidate_id = e.candidate_id AND h.policy = e.policy
LEFT JOIN tried AS t ON t.candidate_id = e.candidate_id AND t.policy = e.policy
LEFT JOIN change_coverage AS d
    ON d.candidate_id = e.candidate_id AND d.policy = e.policy AND d.definition = 'paper' AND d.measured
LEFT JOIN met AS m ON m.candidate_id = e.candidate_id AND m.policy = e.policy
LEFT JOIN suspected_candidate AS x ON x.candidate_id = e.candidate_id AND x.policy = e.policy
LEFT JOIN work AS g ON g.candidate_id = e.candidate_id
ORDER BY e.instance_id, e.method <> 'golden', e.method <> 'nop', e.method, e.model, e.sample;
