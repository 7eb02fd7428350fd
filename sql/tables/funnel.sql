-- How many pull requests remain after each rule of the filter, and how many fail a rule?
--
-- One row per rule and repository, in the order of `step`, and one per rule with repo null for all repositories.
-- Two rules apply to some pull requests only. `statement_length` needs a linked issue. `patch_reproduces` runs only on
-- pull requests that pass all other rules.
-- step           position of the rule in the filter
-- rule           its name, as in `rejection`
-- pull_requests  all collected pull requests
-- unfiltered     those that the filter has not processed yet; they neither pass nor fail a rule
-- remaining      those that pass this rule and every earlier one
-- failing        those that fail this rule
-- failing_alone  those that fail this rule only
-- needs: pull_request, pull_base, rejection
CREATE OR REPLACE VIEW funnel AS
WITH rule_order (step, rule) AS (
    VALUES
        (1, 'merged'),
        (2, 'in_window'),
        (3, 'default_branch'),
        (4, 'not_a_bot'),
        (5, 'linked_issue'),
        (6, 'test_file'),
        (7, 'source_file'),
        (8, 'size'),
        (9, 'not_a_revert'),
        (10, 'not_landed_before'),
        (11, 'statement_length'),
        (12, 'licence'),
        (13, 'base_verified'),
        (14, 'patch_reproduces')
),
failed AS (
    SELECT p.repo, p.number, min(o.step) AS first_step, count(*) AS rules, list(o.step) AS steps
    FROM pull_request AS p
    JOIN rejection AS r ON r.repo = p.repo AND r.number = p.number
    JOIN rule_order AS o ON o.rule = r.rule
    GROUP BY p.repo, p.number
),
pull AS (
    SELECT
        p.repo, b.number IS NOT NULL AS filtered,
        f.first_step, coalesce(f.rules, 0) AS rules, coalesce(f.steps, []) AS steps
    FROM pull_request AS p
    LEFT JOIN pull_base AS b ON b.repo = p.repo AND b.number = p.number
    LEFT JOIN failed AS f ON b.number IS NOT NULL AND f.repo = p.repo AND f.number = p.number
)
SELECT
    p.repo, o.step, o.rule,
    count(*) AS pull_requests,
    count(*) FILTER (NOT p.filtered) AS unfiltered,
    count(*) FILTER (p.filtered AND (p.first_step IS NULL OR p.first_step > o.step)) AS remaining,
    count(*) FILTER (list_contains(p.steps, o.step)) AS failing,
    count(*) FILTER (list_contains(p.steps, o.step) AND p.rules = 1) AS failing_alone
FROM rule_order AS o
CROSS JOIN pull AS p
GROUP BY GROUPING SETS ((p.repo, o.step, o.rule), (o.step, o.rule))
ORDER BY p.repo NULLS FIRST, o.step;
