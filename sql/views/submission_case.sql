-- Which test cases do a submission's runs contain, with their outcome in the four cells, and which are in T?
--
-- One row per (candidate_id, policy, case_id) of a well-formed submission.
-- An effective outcome is `missing` where the run has no such case, and `error` where the case's module cannot be
-- collected. It is null without a run. Suite `none` is `missing` if no file exists at the base commit.
-- is_collect                true if the row is a module that cannot be collected
-- pair                      how the cells of the row were paired: by `id`, or by `place` where ids differ between
--                           processes (`case_pair`; suite `none` likewise). `ambiguous`: a case that is missing in a
--                           run may be there under another id
-- before_id, after_id       id of the case in the candidate's run on each code state; null where that run has no such
--                           case
-- in_t                      the case is in T: the candidate adds it or edits code that it consists of (metrics: which
--                           cases are the candidate's). Null where a run is missing. A module counts as a case only if
--                           neither state collects it. A case that may equal one of suite `none` under another id is in
--                           T only if the candidate edits it
-- t_reason                  `added`, `edited`, `module`; `added-unseen` where neither run of suite `none` could collect
--                           the module
-- none_before, none_after   effective outcome of the case in suite `none` on each code state
-- candidate_before, candidate_after  effective outcome in the candidate's suite on each code state
-- raw_none_before, raw_none_after  outcome that the run of suite `none` recorded; null where it recorded nothing
-- raw_candidate_before, raw_candidate_after  outcome that the candidate's run recorded; null where it recorded nothing
-- needs: submission_run, case_outcome, case_pair, edited_definition
CREATE OR REPLACE VIEW submission_case AS
WITH cell AS (
    SELECT
        candidate_id, policy,
        unnest([
            {'cell': 'none_before', 'run_key': none_before, 'other_run': none_after},
            {'cell': 'none_after', 'run_key': none_after, 'other_run': none_before},
            {'cell': 'candidate_before', 'run_key': candidate_before, 'other_run': candidate_after},
            {'cell': 'candidate_after', 'run_key': candidate_after, 'other_run': candidate_before}
        ], recursive := true)
    FROM submission_run
),
seen AS (
    SELECT
        c.candidate_id, c.policy, c.cell, split_part(c.cell, '_', 1) AS side,
        o.case_id, o.path, o.qualname, o.phase, o.outcome, o.place, p.pair,
        -- A case of the run on the fixed code takes its name from the run before the fix.
        CASE WHEN c.cell LIKE '%_after' THEN coalesce(p.other_case, o.case_id) ELSE o.case_id END AS name
    FROM cell AS c
    JOIN case_outcome AS o ON o.run_key = c.run_key
    LEFT JOIN case_pair AS p ON p.run_key = c.run_key AND p.case_id = o.case_id AND p.other_run = c.other_run
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
-- For functions whose ids differ between processes, the cases of both suites are paired by place.
loose AS MATERIALIZED (
    SELECT
        s.candidate_id, s.policy, s.side, s.path, s.qualname, s.name,
        min(s.place) AS place,
        bool_or(s.pair = 'place') AS by_place,
        count(*) OVER (PARTITION BY s.candidate_id, s.policy, s.side, s.path, s.qualname) AS cases
    FROM seen AS s
    SEMI JOIN (FROM seen WHERE pair = 'place') AS d
        ON d.candidate_id = s.candidate_id AND d.policy = s.policy AND d.path = s.path AND d.qualname = s.qualname
    GROUP BY s.candidate_id, s.policy, s.side, s.path, s.qualname, s.name
),
unknown AS (
    SELECT a.*
    FROM loose AS a
    ANTI JOIN loose AS b
        ON b.candidate_id = a.candidate_id AND b.policy = a.policy AND b.side <> a.side AND b.name = a.name
),
crossed AS (
    SELECT n.candidate_id, n.policy, n.name AS none_name, c.name
    FROM unknown AS n
    JOIN unknown AS c
        ON c.candidate_id = n.candidate_id AND c.policy = n.policy AND c.path = n.path AND c.qualname = n.qualname
        AND c.place = n.place AND c.cases = n.cases AND (n.by_place OR c.by_place)
    WHERE n.side = 'none' AND c.side = 'candidate'
),
doubtful AS (
    SELECT c.candidate_id, c.policy, c.name
    FROM unknown AS c
    SEMI JOIN unknown AS n
        ON n.candidate_id = c.candidate_id AND n.policy = c.policy AND n.path = c.path AND n.qualname = c.qualname
        AND n.side = 'none'
    ANTI JOIN crossed AS x ON x.candidate_id = c.candidate_id AND x.policy = c.policy AND x.name = c.name
    WHERE c.side = 'candidate'
),
named AS (
    SELECT
        s.* EXCLUDE (name, pair),
        coalesce(x.name, s.name) AS name,
        CASE WHEN x.name IS NULL THEN s.pair ELSE 'place' END AS pair
    FROM seen AS s
    LEFT JOIN crossed AS x
        ON s.side = 'none' AND x.candidate_id = s.candidate_id AND x.policy = s.policy AND x.none_name = s.name
),
pivoted AS (
    SELECT
        candidate_id, policy, name AS case_id,
        min(path) AS path,
        min(qualname) AS qualname,
        bool_and(phase = 'collect') AS is_collect,
        bool_or(pair = 'place') AS by_place,
        bool_or(pair = 'ambiguous') AS unpaired,
        min(case_id) FILTER (cell = 'candidate_before') AS before_id,
        min(case_id) FILTER (cell = 'candidate_after') AS after_id,
        min(outcome) FILTER (cell = 'none_before') AS raw_none_before,
        min(outcome) FILTER (cell = 'none_after') AS raw_none_after,
        min(outcome) FILTER (cell = 'candidate_before') AS raw_candidate_before,
        min(outcome) FILTER (cell = 'candidate_after') AS raw_candidate_after
    FROM named
    GROUP BY candidate_id, policy, name
),
effective AS (
    SELECT
        p.*,
        r.measured,
        d.name IS NOT NULL AS is_doubtful,
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
    LEFT JOIN doubtful AS d ON d.candidate_id = p.candidate_id AND d.policy = p.policy AND d.name = p.case_id
    LEFT JOIN (SELECT DISTINCT suite_id, path, qualname FROM edited_definition) AS e
        ON e.suite_id = r.suite_id AND e.path = p.path AND e.qualname = p.qualname
),
judged AS (
    SELECT
        *,
        raw_none_before IS NULL AND raw_none_after IS NULL AS is_new,
        CASE WHEN unpaired OR is_doubtful THEN 'ambiguous' WHEN by_place THEN 'place' ELSE 'id' END AS pair,
        CASE
            WHEN is_collect AND is_new AND raw_candidate_before IS NOT NULL AND raw_candidate_after IS NOT NULL
                THEN 'module'
            WHEN is_collect THEN ''
            -- A case that is missing from a run that collected the module is not in the candidate's suite. Example: the
            -- former parameters of an edited test. If no state collects the module, it cannot be decided.
            WHEN raw_candidate_before IS NULL AND raw_candidate_after IS NULL
                THEN CASE WHEN is_edited AND unseen THEN 'edited' ELSE '' END
            WHEN is_edited THEN 'edited'
            WHEN is_doubtful THEN ''
            WHEN is_new AND base_unseen THEN 'added-unseen'
            WHEN is_new THEN 'added'
            ELSE ''
        END AS found
    FROM effective
)
SELECT
    candidate_id, policy, case_id, path, qualname, is_collect, pair, before_id, after_id,
    CASE WHEN ran_none_before THEN nb END AS none_before,
    CASE WHEN ran_none_after THEN na END AS none_after,
    CASE WHEN ran_candidate_before THEN cb END AS candidate_before,
    CASE WHEN ran_candidate_after THEN ca END AS candidate_after,
    raw_none_before, raw_none_after, raw_candidate_before, raw_candidate_after,
    CASE WHEN measured THEN found <> '' END AS in_t,
    CASE WHEN measured THEN found END AS t_reason
FROM judged;
