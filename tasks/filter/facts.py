"""What the rules ask about, one row for each pull request, and the rules applied: both in SQL over Arrow tables.

Any number of pull requests, of any repositories, is one query; only paths and texts are looked at in Python before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

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

_FACTS = Path(__file__).with_name("facts.sql")


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
        connection.register("kind", _kinds(connection, inputs.repositories))
        connection.execute(_FACTS.read_text("utf-8"))
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
    found = connection.sql("SELECT DISTINCT repo, unnest(paths) AS path FROM pulls").to_arrow_table()
    repos, paths = found["repo"].to_pylist(), found["path"].to_pylist()
    tests = [repo in known and is_test(path, known[repo]) for repo, path in zip(repos, paths, strict=True)]
    return pa.table({"repo": repos, "path": paths, "test": pa.array(tests, pa.bool_())})
