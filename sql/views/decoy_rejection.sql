-- Does each candidate reject the decoys of its instance?
--
-- One row per (candidate_id, policy, fix_id): a well-formed submission with a case of T that goes from failing to
-- passing, and a chosen decoy.
-- rejected  one of these cases fails on the decoy or is missing there; null where the suite did not run on it or no
--           case can be paired
-- why       the first such case with its outcome; else the accepted decoy, or what is missing
-- kept: beside the runs
-- needs: submission_run, submission_case, chosen_decoy, fix_suite_run, case_pair, case_outcome, fails
CREATE OR REPLACE VIEW decoy_rejection AS
WITH turned AS (
    SELECT s.instance_key, s.suite_id, c.candidate_id, c.policy, c.case_id, c.after_id, s.candidate_after
    FROM submission_case AS c
    JOIN submission_run AS s ON s.candidate_id = c.candidate_id AND s.policy = c.policy
    WHERE c.in_t AND fails(c.candidate_before) AND c.candidate_after = 'passed'
),
observed AS (
    SELECT
        t.instance_key, t.candidate_id, t.policy, t.case_id, d.fix_id, d.kind, d.place, d.detail, r.run_key,
        o.outcome, p.pair IS NOT DISTINCT FROM 'ambiguous' AS unpaired
    FROM turned AS t
    JOIN chosen_decoy AS d ON d.instance_key = t.instance_key
    LEFT JOIN fix_suite_run AS r
        ON r.fix_id = d.fix_id AND r.suite_id = t.suite_id AND r.instance_key = t.instance_key
    LEFT JOIN case_pair AS p ON p.run_key = t.candidate_after AND p.case_id = t.after_id AND p.other_run = r.run_key
    LEFT JOIN case_outcome AS o ON o.run_key = r.run_key AND o.case_id = coalesce(p.other_case, t.after_id)
)
SELECT
    instance_key, candidate_id, policy, fix_id, kind, place,
    CASE
        WHEN bool_or(run_key IS NOT NULL AND NOT unpaired AND (outcome IS NULL OR fails(outcome))) THEN true
        WHEN any_value(run_key) IS NULL OR bool_or(unpaired) THEN NULL
        ELSE false
    END AS rejected,
    CASE
        WHEN rejected
            THEN min(case_id || ': ' || coalesce(outcome, 'missing'))
                FILTER (NOT unpaired AND (outcome IS NULL OR fails(outcome)))
        WHEN NOT rejected THEN 'accepts a decoy (' || any_value(kind) || '): ' || any_value(detail)
        WHEN any_value(run_key) IS NULL THEN 'there is no run on decoy ' || any_value(place)
        ELSE min(case_id) FILTER (unpaired) || ': the id differs between processes, and its place does not tell which case it is'
    END AS why
FROM observed
GROUP BY instance_key, candidate_id, policy, fix_id, kind, place;
