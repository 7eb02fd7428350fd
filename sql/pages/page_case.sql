-- What are the outcomes of each candidate's cases in the four cells?
--
-- FROM page_case('2026-11', false). One row per counted candidate and case of T, and per case whose outcome differs
-- with the candidate.
-- Outcomes of suite `none` and of the candidate before and after the fix are as in `case_matrix`.
-- A message on the fixed code shows the fixed code, so it is null unless `with_golden`. The cases of an embargoed
-- golden suite have no row unless `with_golden`.
-- message_before, message_after  message of the case in the candidate's runs
-- needs: counted_candidate, counted_policy, case_matrix, held_out
CREATE OR REPLACE MACRO page_case(for_snapshot, with_golden) AS TABLE
WITH entry AS (
    SELECT c.candidate_id, c.instance_id, p.policy
    FROM counted_candidate AS c
    JOIN counted_policy('tests-only') AS p ON p.candidate_id = c.candidate_id
    JOIN held_out AS o ON o.snapshot = c.snapshot AND o.instance_id = c.instance_id
    WHERE c.snapshot = for_snapshot
        AND (with_golden OR NOT o.held_out OR (c.method <> 'golden' AND c.provenance <> 'oracle'))
)
SELECT
    e.candidate_id, c.case_id, c.path, c.in_t, c.t_reason,
    c.none_before, c.none_after, c.candidate_before, c.candidate_after,
    c.message_before,
    CASE WHEN with_golden THEN c.message_after END AS message_after,
    c.message_after IS NOT NULL AND NOT with_golden AS left_out
FROM entry AS e
JOIN case_matrix AS c ON c.candidate_id = e.candidate_id AND c.policy = e.policy
WHERE c.in_t OR (c.none_before, c.none_after) IS DISTINCT FROM (c.candidate_before, c.candidate_after)
ORDER BY e.candidate_id, c.in_t DESC, c.case_id;
