-- What the rules of the filter ask about: `facts`, one row for each pull request.
--
-- Read by facts.py, over its Arrow tables pulls, links, bases, repositories, statements, replays, limits and kind (whether
-- a path is a test's).
CREATE TABLE path AS
SELECT repo, number, unnest(paths) AS path, unnest(path_changes) AS change,
       unnest(path_additions) + unnest(path_deletions) AS lines
FROM pulls;

CREATE TABLE file AS
SELECT p.repo, p.number, count(*) AS files,
       count(*) FILTER (k.test AND p.change <> 'deleted') AS test_files,
       count(*) FILTER (NOT k.test AND regexp_matches(p.path, '\.pyx?$')) AS source_files,
       count(*) FILTER (NOT k.test AND NOT regexp_matches(p.path, '\.(rst|md|txt)$')) AS all_source_files,
       coalesce(sum(p.lines) FILTER (NOT k.test), 0)::BIGINT AS source_lines,
       coalesce(sum(p.lines) FILTER (k.test), 0)::BIGINT AS test_lines
FROM path AS p JOIN kind AS k USING (repo, path)
GROUP BY p.repo, p.number;

CREATE TABLE linked AS
SELECT repo, number, count(*) AS links, count(*) FILTER (problem = '') AS usable_links,
       string_agg(DISTINCT problem, ', ' ORDER BY problem) AS link_problems
FROM (
    SELECT repo, number,
           CASE WHEN other_repository THEN 'another repository' WHEN is_pull_request THEN 'a pull request'
            WHEN NOT known THEN 'unknown' WHEN opened_after THEN 'opened after' ELSE '' END AS problem
    FROM links
)
GROUP BY repo, number;

CREATE TABLE changed AS
SELECT b.repo, b.number, b.patch_id, b.reverse_patch_id, p.merged_at
FROM bases AS b JOIN pulls AS p USING (repo, number)
WHERE b.patch_id <> '';

CREATE TABLE earlier AS
SELECT c.repo, c.number,
       min(e.number) FILTER (e.patch_id = c.reverse_patch_id) AS undoes,
       min(e.number) FILTER (e.patch_id = c.patch_id) AS repeats
FROM changed AS c
JOIN (SELECT repo, number, patch_id, merged_at FROM changed) AS e
  ON e.repo = c.repo AND e.patch_id IN (c.patch_id, c.reverse_patch_id)
 AND (e.merged_at, e.number) < (c.merged_at, c.number)
GROUP BY c.repo, c.number;

-- What a pull request says of itself counts where it speaks of the whole. A squashed message lists the branch's commits
-- as `* …`, and a revert among these is of the branch's own work: of the 159 merged pull requests of six real histories
-- that a "this reverts commit" anywhere rejected, 96 were new work (45 looked at: 44). So it has to open the body, or
-- stand under a title that says so too. The same with "backport" anywhere in a title (35 rejected, 16 wrongly: workflows
-- called so, versions of an action, `[2.0]` before new work); the line of cherry-pick -x was not read (40, 39 rightly).
CREATE TABLE facts AS
SELECT p.repo, p.number, p.merged_at, p.base_branch, p.author, p.author_kind,
       r.default_branch, r.licence, r.other_licence, r.asked_since,
       coalesce(f.files, 0) AS files, coalesce(f.test_files, 0) AS test_files,
       coalesce(f.source_files, 0) AS source_files, coalesce(f.all_source_files, 0) AS all_source_files,
       coalesce(f.source_lines, 0) AS source_lines, coalesce(f.test_lines, 0) AS test_lines,
       coalesce(l.links, 0) AS links, coalesce(l.usable_links, 0) AS usable_links, l.link_problems,
       e.undoes, e.repeats,
       (
           regexp_matches(p.title, '^(\[[^\]]*\])?\W*reverts?\W*["#]', 'i')
           OR regexp_matches(p.body, '^\W*(this )?reverts (commit|pr|pull|[\w.:/-]*#\d|https://)', 'i')
           OR regexp_matches(p.title, '^(\[[^\]]*\])?\W*revert', 'i')
               AND regexp_matches(p.body, '\breverts (commit|pr|pull|[\w.:/-]*#\d|https://)', 'i')
       ) AS says_revert,
       (
           regexp_matches(p.title, '^\W*(back-?port|cherry[- ]?pick)\w*[^\]]*\]', 'i')
           OR regexp_matches(p.title, '^\W*(back-?port|cherry[- ]?pick)(s|ed|ing)?\W+(of\W+)?((pr|pull request|commit)\W+)?'
               '(\d|[0-9a-f]{7,40}\b|release\b)', 'i')
           OR regexp_matches(p.title, '^\W*re-?(land|apply)\w*\W*["#]', 'i')
           OR regexp_matches(p.body, '^[^*]*\(cherry[ -]picked from commit [0-9a-f]{7,40}', 'i')
       ) AS says_backport,
       t.statement_words, coalesce(b.base_verified, '') AS base_verified,
       coalesce(b.reason, 'not looked for') AS base_problem, v.reproduces, limits.*
FROM pulls AS p
JOIN repositories AS r USING (repo)
LEFT JOIN file AS f USING (repo, number)
LEFT JOIN linked AS l USING (repo, number)
LEFT JOIN earlier AS e USING (repo, number)
LEFT JOIN statements AS t USING (repo, number)
LEFT JOIN bases AS b USING (repo, number)
LEFT JOIN replays AS v USING (repo, number)
CROSS JOIN limits;
