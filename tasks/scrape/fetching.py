"""One page of a repository, with all that did not fit into it, as one state of affairs.

What does not fit is asked for node by node. Where a node changed in between, or is gone, the page is read anew; it is
kept only when everything in it and behind it belongs together. A page with a hole in it, or with fewer nodes than were
asked for although more follow, is read anew too: but GitHub may leave out what it hides, so not for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tasks.adapters.github.client import GitHub, PageSize
from tasks.adapters.github.failures import GitHubFailed, GitHubGone, StaleCursor
from tasks.domain.names import RepoName
from tasks.domain.scraping import RawPage
from tasks.scrape.kinds import Overflow, PageKind
from tasks.scrape.page_store import PageStore

READINGS = 8
"""How often a page is read that changes all the time."""
SHORT_READINGS = 3
"""How often a page is read of which something is missing; the last one is kept."""


@dataclass(slots=True)
class SyncContext:
    """What a sync works with. Of one repository at a time; the client may be shared."""

    github: GitHub
    page_store: PageStore
    sizes: dict[str, PageSize] = field(default_factory=dict)
    """Page size by kind, as it has adapted so far."""

    def size(self, kind: str) -> PageSize:
        return self.sizes.setdefault(kind, PageSize())

    def now(self) -> datetime:
        return self.github.clock.now()


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """In which order pages are read, and from which date."""

    field: str
    """`CREATED_AT` or `UPDATED_AT`."""
    direction: str
    """`ASC` or `DESC`."""
    since: datetime | None = None
    """Only what was updated since; for kinds that GitHub filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page that is kept."""

    row: RawPage
    more: bool
    end: str | None
    """Cursor of the next page; null where this one is empty."""
    numbers: frozenset[int]
    total: int
    """How many nodes GitHub counts in the whole walk."""


@dataclass(frozen=True, slots=True)
class _Extra:
    """A page of what did not fit."""

    query: str
    number: int
    cursor: str
    data: Mapping[str, Any]
    nodes: list[Mapping[str, Any]]


class _Changed(Exception):
    """A node is no longer what its page says."""


def owner_and_name(repo: RepoName) -> dict[str, Any]:
    """The two variables that every query has."""
    owner, _, name = repo.partition("/")
    return {"owner": owner, "name": name}


def keep_page(context: SyncContext, repo: RepoName, kind: PageKind, walk: Walk, after: str | None) -> FetchedPage:
    """Fetch the page after a cursor and what did not fit into it, and keep both.

    `GitHubFailed` where the page never stands still, and whatever `GitHub.ask` raises.
    """
    short, what = 0, ""
    for _ in range(READINGS):
        data = context.github.ask(kind.name, _variables(repo, kind, walk, after), context.size(kind.name))
        connection = data["repository"].get(kind.connection)
        if connection is None or connection["nodes"] is None:
            what = "was null"
            continue
        if short < SHORT_READINGS - 1 and _is_short(connection, kind, context.size(kind.name).asked):
            short += 1
            continue
        try:
            extras = _extras(context, repo, kind, connection["nodes"])
        except _Changed:
            what = "changed"
            continue
        return _keep(context, repo, kind, after, data, extras)
    message = f"a page of {kind.name} of {repo} {what} each of the {READINGS} times it was read"
    raise GitHubFailed(message, hint="run the same command again: it goes on from here")


def _is_short(connection: Mapping[str, Any], kind: PageKind, asked: int) -> bool:
    """Whether something is missing without a word: of the page, or of a list within it."""
    nodes = connection["nodes"]
    cut = connection["pageInfo"]["hasNextPage"] and len(nodes) < asked
    lists = ((overflow, node[overflow.field] or {}) for node in nodes if node for overflow in kind.overflows)
    return cut or None in nodes or any(_lacks(listed, overflow) for overflow, listed in lists)


def _lacks(listed: Mapping[str, Any], overflow: Overflow) -> bool:
    nodes = listed.get("nodes") or []
    ended = overflow.counted and not listed.get("pageInfo", {}).get("hasNextPage")
    return None in nodes or (ended and len(nodes) < listed.get("totalCount", 0))


def _variables(repo: RepoName, kind: PageKind, walk: Walk, after: str | None) -> dict[str, Any]:
    common = {**owner_and_name(repo), "after": after, "field": walk.field, "direction": walk.direction}
    if kind.filters_by_date:
        common["since"] = walk.since.isoformat() if walk.since else None
    return common


def _keep(
    context: SyncContext,
    repo: RepoName,
    kind: PageKind,
    after: str | None,
    data: Mapping[str, Any],
    extras: list[_Extra],
) -> FetchedPage:
    """Extras first: a page's row means that all behind it is there. A microsecond apart keeps their order."""
    now = context.now()
    for place, extra in enumerate(extras):
        context.page_store.keep(
            extra.data,
            extra.nodes,
            repo=repo,
            kind=extra.query,
            number=extra.number,
            cursor=extra.cursor,
            fetched_at=now + place * timedelta(microseconds=1),
        )
    connection = data["repository"][kind.connection]
    row = context.page_store.keep(data, connection["nodes"], repo=repo, kind=kind.name, cursor=after, fetched_at=now)
    info = connection["pageInfo"]
    numbers = frozenset(node["number"] for node in connection["nodes"] if node)
    total = connection["totalCount"]
    return FetchedPage(row=row, more=info["hasNextPage"], end=info["endCursor"], numbers=numbers, total=total)


def _extras(
    context: SyncContext, repo: RepoName, kind: PageKind, nodes: list[Mapping[str, Any] | None]
) -> list[_Extra]:
    return [
        extra
        for node in nodes
        if node
        for overflow in kind.overflows
        if (node[overflow.field] or {}).get("pageInfo", {}).get("hasNextPage")
        for extra in _rest(context, repo, kind, node, overflow)
    ]


def _rest(
    context: SyncContext, repo: RepoName, kind: PageKind, node: Mapping[str, Any], overflow: Overflow
) -> list[_Extra]:
    """All further pages of one list of one node."""
    extras: list[_Extra] = []
    info = node[overflow.field]["pageInfo"]
    while info["hasNextPage"]:
        variables = {**owner_and_name(repo), "number": node["number"], "after": info["endCursor"]}
        try:
            data = context.github.ask(overflow.query, variables)
        except (GitHubGone, StaleCursor) as error:
            raise _Changed from error
        now = data["repository"][kind.single]
        if now is None or now["updatedAt"] != node["updatedAt"]:
            raise _Changed
        found = now[overflow.field]
        if found is None or found["nodes"] is None:
            raise _Changed
        extras.append(_Extra(overflow.query, node["number"], info["endCursor"], data, found["nodes"]))
        info = found["pageInfo"]
    return extras
