-- Every test case that a submission's runs know, with its outcome in the four cells, and whether it is a case of T.
--
-- One row per (candidate_id, policy, case_id) of a well-formed submission.
-- none_before, none_after, candidate_before, candidate_after
--     effective outcome: `missing` where the run has no such case, `error` where the case's module could not be
--     collected in that run; null where there is no run. Without a file at the base commit, suite `none` is `missing`.
-- raw_…       what the run recorded, null where it recorded nothing
-- is_collect  the row stands for a module that could not be collected
-- printed     the repository's own runner prints a line for it; a run that ends before its first case prints none
-- in_t        T: the candidate adds the case or edits what it consists of (metrics: which cases are the candidate's);
--             null where a run is not there. A module counts as a case of its own only if neither state collects it.
-- t_reason    `added`, `edited`, `module`; `added-unseen` where neither run of suite `none` could collect the module
-- none_before, none_after       effective outcome of the case in suite `none` on each code state
-- candidate_before, candidate_after  in the candidate's suite
-- raw_none_before, raw_none_after, raw_candidate_before, raw_candidate_after  what that run recorded; null where it recorded nothing
-- needs: submission_run, case_outcome, edited_definition
CREATE OR REPLACE VIEW submission_case AS
WITH cell AS (
    UNPIVOT (
        SELECT candidate_id, policy, none_before, none_after, candidate_before, candidate_after FROM submission_run
    )
    ON none_before, none_after, candidate_before, candidate_after INTO NAME cell VALUE run_key
),
seen AS (
    SELECT c.candidate_id, c.policy, c.cell, o.case_id, o.path, o.qualname, o.label, o.phase, o.outcome
    FROM cell AS c JOIN case_outcome AS o ON o.run_key = c.run_key
),
uncollected AS (
    SELECT
        candidate_id, policy, path,
        bool_or(cell = 'none_before') AS none_before,
        bool_or(cell = 'none_after') AS none_after,
        bool_or(cell = 'candidate_before') AS candidate_before,
        bool_or(cell = 'candidate_after') AS candidate_after
    FROM seen
    WHERE phase = 'collect' AND outcome = 'error'
    GROUP BY candidate_id, policy, path
),
pivoted AS (
    SELECT
        candidate_id, policy, case_id,
        min(path) AS path,
        min(qualname) AS qualname,
        bool_and(phase = 'collect') AS is_collect,
        bool_or(label <> '') AS printed,
        min(outcome) FILTER (cell = 'none_before') AS raw_none_before,
        min(outcome) FILTER (cell = 'none_after') AS raw_none_after,
        min(outcome) FILTER (cell = 'candidate_before') AS raw_candidate_before,
        min(outcome) FILTER (cell = 'candidate_after') AS raw_candidate_after
    FROM seen
    GROUP BY candidate_id, policy, case_id
),
effective AS (
    SELECT
        p.*,
        r.measured,
        u.none_before AND u.none_after AS base_unseen,
        u.candidate_before AND u.candidate_after AS unseen,
        e.suite_id IS NOT NULL AS is_edited,
        r.none_before IS NOT NULL OR NOT r.has_base AS ran_none_before,
        r.none_after IS NOT NULL OR NOT r.has_base AS ran_none_after,
        r.candidate_before IS NOT NULL AS ran_candidate_before,
        r.candidate_after IS NOT NULL AS ran_candidate_after,
        coalesce(raw_none_before, CASE WHEN u.none_before THEN 'error' END, 'missing') AS nb,
        coalesce(raw_none_after, CASE WHEN u.none_after THEN 'error' END, 'missing') AS na,
        coalesce(raw_candidate_before, CASE WHEN u.candidate_before THEN 'error' END, 'missing') AS cb,
        coalesce(raw_candidate_after, CASE WHEN u.candidate_after THEN 'error' END, 'missing') AS ca
    FROM pivoted AS p
    JOIN submission_run AS r ON r.candidate_id = p.candidate_id AND r.policy = p.policy
    LEFT JOIN uncollected AS u ON u.candidate_id = p.candidate_id AND u.policy = p.policy AND u.path = p.path
    LEFT JOIN (SELECT DISTINCT suite_id, path, qualname FROM edited_definition) AS e
        ON e.suite_id = r.suite_id AND e.path = p.path AND e.qualname = p.qualname
),
judged AS (
    SELECT
        *,
        raw_none_before IS NULL AND raw_none_after IS NULL AS is_new,
        CASE
            WHEN is_collect AND is_new AND raw_candidate_before IS NOT NULL AND raw_candidate_after IS NOT NULL
                THEN 'module'
            WHEN is_collect THEN ''
            -- What a run that collected the module does not know is not in the candidate's suite: the former parameters
            -- of an edited test. Where no state collects it, nobody can tell.
            WHEN raw_candidate_before IS NULL AND raw_candidate_after IS NULL
                THEN CASE WHEN is_edited AND unseen THEN 'edited' ELSE '' END
            WHEN is_edited THEN 'edited'
            WHEN is_new AND base_unseen THEN 'added-unseen'
            WHEN is_new THEN 'added'
            ELSE ''
        END AS found
    FROM effective
)
SELECT
    candidate_id, policy, case_id, path, qualname, is_collect, printed,
    CASE WHEN ran_none_before THEN nb END AS none_before,
    CASE WHEN ran_none_after THEN na END AS none_after,
    CASE WHEN ran_candidate_before THEN cb END AS candidate_before,
    CASE WHEN ran_candidate_after THEN ca END AS candidate_after,
    raw_none_before, raw_none_after, raw_candidate_before, raw_candidate_after,
    CASE WHEN measured THEN found <> '' END AS in_t,
    CASE WHEN measured THEN found END AS t_reason
FROM judged;
