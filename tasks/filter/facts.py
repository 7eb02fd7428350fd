"""What the rules ask about, one row for each pull request, and the rules applied: both in SQL over Arrow tables.

Any number of pull requests, of any repositories, is one query; only paths and texts are looked at in Python before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.schema import Column, columns, from_arrow
from tasks.domain.collect import PullRequest, Rejection, Repository, RepositoryState
from tasks.domain.names import RepoName
from tasks.filter.paths import is_test
from tasks.filter.rules import RULES, Rule, RuleLimits

PullKey = tuple[RepoName, int]
_USED = (
    *("repo", "number", "title", "body", "author", "author_kind", "merged_at", "base_branch"),
    *("paths", "path_additions", "path_deletions", "path_changes"),
)

_PATHS = """
    CREATE TABLE path AS
    SELECT repo, number, unnest(paths) AS path, unnest(path_changes) AS change,
           unnest(path_additions) + unnest(path_deletions) AS lines
    FROM pulls
"""
_FILES = """
    CREATE TABLE file AS
    SELECT p.repo, p.number, count(*) AS files,
           count(*) FILTER (k.test AND p.change <> 'deleted') AS test_files,
           count(*) FILTER (NOT k.test AND regexp_matches(p.path, '\\.pyx?$')) AS source_files,
           count(*) FILTER (NOT k.test AND NOT regexp_matches(p.path, '\\.(rst|md|txt)$')) AS all_source_files,
           coalesce(sum(p.lines) FILTER (NOT k.test), 0)::BIGINT AS source_lines,
           coalesce(sum(p.lines) FILTER (k.test), 0)::BIGINT AS test_lines
    FROM path AS p JOIN kind AS k USING (repo, path)
    GROUP BY p.repo, p.number
"""
_LINKS = """
    CREATE TABLE linked AS
    SELECT repo, number, count(*) AS links, count(*) FILTER (problem = '') AS usable_links,
           string_agg(DISTINCT problem, ', ' ORDER BY problem) AS link_problems
    FROM (
        SELECT repo, number,
               CASE WHEN other_repository THEN 'another repository' WHEN is_pull_request THEN 'a pull request'
                    WHEN NOT known THEN 'unknown' WHEN opened_after THEN 'opened after' ELSE '' END AS problem
        FROM links
    )
    GROUP BY repo, number
"""
_EARLIER = """
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
    GROUP BY c.repo, c.number
"""
# What a pull request says of itself counts where it speaks of the whole. A squashed message lists the branch's commits
# as `* …`, and a revert among these is of the branch's own work: of the 159 merged pull requests of six real histories
# that a "this reverts commit" anywhere rejected, 96 were new work (45 looked at: 44). So it has to open the body, or
# stand under a title that says so too. The same with "backport" anywhere in a title (35 rejected, 16 wrongly: workflows
# called so, versions of an action, `[2.0]` before new work); the line of cherry-pick -x was not read (40, 39 rightly).
_REVERTED = r"reverts (commit|pr|pull|[\w.:/-]*#\d|https://)"
_REVERT = rf"""
    regexp_matches(p.title, '^(\[[^\]]*\])?\W*reverts?\W*["#]', 'i')
    OR regexp_matches(p.body, '^\W*(this )?{_REVERTED}', 'i')
    OR regexp_matches(p.title, '^(\[[^\]]*\])?\W*revert', 'i') AND regexp_matches(p.body, '\b{_REVERTED}', 'i')
"""
_BACKPORT = r"""
    regexp_matches(p.title, '^\W*(back-?port|cherry[- ]?pick)\w*[^\]]*\]', 'i')
    OR regexp_matches(p.title, '^\W*(back-?port|cherry[- ]?pick)(s|ed|ing)?\W+(of\W+)?((pr|pull request|commit)\W+)?'
        '(\d|[0-9a-f]{7,40}\b|release\b)', 'i')
    OR regexp_matches(p.title, '^\W*re-?(land|apply)\w*\W*["#]', 'i')
    OR regexp_matches(p.body, '^[^*]*\(cherry[ -]picked from commit [0-9a-f]{7,40}', 'i')
"""
_FACTS = f"""
    CREATE TABLE facts AS
    SELECT p.repo, p.number, p.merged_at, p.base_branch, p.author, p.author_kind,
           r.default_branch, r.licence, r.other_licence, r.asked_since,
           coalesce(f.files, 0) AS files, coalesce(f.test_files, 0) AS test_files,
           coalesce(f.source_files, 0) AS source_files, coalesce(f.all_source_files, 0) AS all_source_files,
           coalesce(f.source_lines, 0) AS source_lines, coalesce(f.test_lines, 0) AS test_lines,
           coalesce(l.links, 0) AS links, coalesce(l.usable_links, 0) AS usable_links, l.link_problems,
           e.undoes, e.repeats,
           ({_REVERT}) AS says_revert, ({_BACKPORT}) AS says_backport,
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
    CROSS JOIN limits
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the facts are drawn from."""

    pulls: pa.Table
    """Rows of `pull_request`; only the columns of `pull_table` are used."""
    links: pa.Table
    bases: pa.Table
    repositories: Iterable[Repository]
    """Pull requests of others are left out."""
    statement_words: Mapping[PullKey, int]
    """For pull requests that have a statement."""
    reproduces: Mapping[PullKey, bool]
    """For pull requests whose patch was replayed."""
    states: Iterable[RepositoryState] = ()
    """What GitHub says of the repositories."""
    since: Mapping[RepoName, datetime] = field(default_factory=dict)
    """The day from which on pull requests are asked for, of repositories of which not all are."""


def rejections(inputs: Inputs, limits: RuleLimits, rules: Iterable[Rule] = RULES) -> tuple[Rejection, ...]:
    """A row for every pull request and rule that it fails, sorted."""
    with connected() as connection:
        _register(connection, inputs, limits)
        for statement in (_PATHS, _FILES, _LINKS, _EARLIER, _FACTS):
            if statement is _FILES:
                connection.register("kind", _kinds(connection, inputs.repositories))
            connection.execute(statement)
        table = connection.sql(_failing(rules)).to_arrow_table()
    return from_arrow(table, Rejection)


def pull_table(pulls: Sequence[PullRequest]) -> pa.Table:
    """The columns of pull requests that facts are drawn from."""
    used = [column for column in columns(PullRequest) if column.name in _USED]
    arrays = [
        pa.array([_stored(getattr(pull, column.name), column) for pull in pulls], column.arrow) for column in used
    ]
    return pa.table(arrays, names=[column.name for column in used])


def _stored(value: object, column: Column) -> object:
    return None if value is None else column.encode(value)


def _failing(rules: Iterable[Rule]) -> str:
    parts = (
        f"SELECT repo, number, {position} AS step, '{rule.name}' AS rule, coalesce({rule.found}, '') AS detail"
        f" FROM facts WHERE {rule.fails}"
        for position, rule in enumerate(rules)
    )
    return f"SELECT repo, number, rule, detail FROM ({' UNION ALL '.join(parts)}) ORDER BY repo, number, step"


def _register(connection: duckdb.DuckDBPyConnection, inputs: Inputs, limits: RuleLimits) -> None:
    repositories = tuple(inputs.repositories)
    on_github = {state.repo: state.licence for state in inputs.states}
    connection.register("pulls", inputs.pulls)
    connection.register("links", inputs.links)
    connection.register("bases", inputs.bases)
    connection.register("statements", _keyed(inputs.statement_words, "statement_words", pa.int64()))
    connection.register("replays", _keyed(inputs.reproduces, "reproduces", pa.bool_()))
    named = {
        "repo": [repository.repo for repository in repositories],
        "default_branch": [repository.default_branch for repository in repositories],
        "licence": [repository.licence for repository in repositories],
        "other_licence": [_other(repository.licence, on_github.get(repository.repo)) for repository in repositories],
        "asked_since": [inputs.since.get(repository.repo) for repository in repositories],
    }
    schema = pa.schema([(name, pa.timestamp("us", "UTC") if name == "asked_since" else pa.string()) for name in named])
    connection.register("repositories", pa.table(named, schema))
    connection.register("limits", _limits(limits))


def _other(listed: str, found: str | None) -> str | None:
    """The licence that GitHub found, where it is another than our list says; null where it is the same or unknown.

    GitHub does not tell `GPL-2.0-only` from `GPL-2.0-or-later`, and names no licence that is its project's own.
    """
    return None if found is None or _family(found) == _family(listed) else found


def _family(licence: str) -> str:
    return licence.removesuffix("-only").removesuffix("-or-later").lower()


def _limits(limits: RuleLimits) -> pa.Table:
    return pa.table(
        {
            "max_source_files": [limits.max_source_files],
            "max_source_lines": [limits.max_source_lines],
            "max_test_lines": [limits.max_test_lines],
            "min_statement_words": [limits.min_statement_words],
            "max_statement_words": [limits.max_statement_words],
            "licences": [list(limits.licences)],
        }
    )


def _keyed(values: Mapping[PullKey, object], name: str, kind: pa.DataType) -> pa.Table:
    schema = pa.schema([("repo", pa.string()), ("number", pa.int64()), (name, kind)])
    columns = [[key[0] for key in values], [key[1] for key in values], list(values.values())]
    return pa.table(columns, schema=schema)


def _kinds(connection: duckdb.DuckDBPyConnection, repositories: Iterable[Repository]) -> pa.Table:
    """Every distinct path, and whether it is a test's."""
    known = {repository.repo: repository for repository in repositories}
    found = connection.sql("SELECT DISTINCT repo, path FROM path").to_arrow_table()
    repos, paths = found["repo"].to_pylist(), found["path"].to_pylist()
    tests = [repo in known and is_test(path, known[repo]) for repo, path in zip(repos, paths, strict=True)]
    return pa.table({"repo": repos, "path": paths, "test": pa.array(tests, pa.bool_())})
