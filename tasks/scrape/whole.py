"""Raw pages → whole pull requests and issues, each as it was last seen, with the lists that did not fit joined on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tasks.domain.names import RepoName
from tasks.scrape.kinds import ISSUE_BY_NUMBER, ISSUES, PULL_REQUESTS, Kind
from tasks.scrape.shelf import Kept, Shelf, moment

Node = dict[str, Any]
"""One pull request or issue with the fields that its query asks for."""
_Rest = dict[tuple[str, int, str, str], Mapping[str, Any]]
"""(query, number, updatedAt, cursor) → the list's page there."""


def pull_requests(shelf: Shelf, repo: RepoName) -> Iterator[Node]:
    """Every merged pull request, by number."""
    yield from _whole(shelf, repo, PULL_REQUESTS)


def issues(shelf: Shelf, repo: RepoName) -> Iterator[Node]:
    """Every issue, by number."""
    yield from _whole(shelf, repo, ISSUES)


def repository(shelf: Shelf, repo: RepoName) -> Mapping[str, Any] | None:
    """The repository's own facts as last seen: default branch, licence, counts; null where it was never seen."""
    found = None
    for kept in shelf.pages(repo, ("repository",)):
        found = kept.data["repository"]
    return found


def numbers(shelf: Shelf, repo: RepoName, kind: Kind) -> frozenset[int]:
    """The numbers that its pages hold."""
    return frozenset(node["number"] for kept in shelf.pages(repo, (kind.name,)) for node in _nodes(kept, kind))


def _whole(shelf: Shelf, repo: RepoName, kind: Kind) -> Iterator[Node]:
    latest: dict[int, tuple[datetime, Node]] = {}
    for kept in shelf.pages(repo, _sources(kind)):
        for node in _nodes(kept, kind):
            updated = moment(node["updatedAt"])
            if node["number"] not in latest or updated >= latest[node["number"]][0]:
                latest[node["number"]] = (updated, node)
    rest = _rest(shelf, repo, kind)
    for number in sorted(latest):
        yield _joined(latest[number][1], kind, rest)


def _sources(kind: Kind) -> tuple[str, ...]:
    return (kind.name, ISSUE_BY_NUMBER) if kind is ISSUES else (kind.name,)


def _nodes(kept: Kept, kind: Kind) -> list[Node]:
    held = kept.data["repository"]
    if kept.row.kind != ISSUE_BY_NUMBER:
        return list(held[kind.connection]["nodes"])
    found = held["issueOrPullRequest"]
    return [found] if found and found["__typename"] == "Issue" else []


def _rest(shelf: Shelf, repo: RepoName, kind: Kind) -> _Rest:
    fields = {overflow.query: overflow.field for overflow in kind.overflows}
    rest: _Rest = {}
    for kept in shelf.pages(repo, tuple(fields)):
        node = kept.data["repository"][kind.single]
        key = (kept.row.kind, node["number"], node["updatedAt"], kept.row.cursor or "")
        rest[key] = node[fields[kept.row.kind]]
    return rest


def _joined(node: Node, kind: Kind, rest: _Rest) -> Node:
    """The node with every list whole."""
    node = dict(node)
    for overflow in kind.overflows:
        found = node[overflow.field]
        if not found or not found["pageInfo"]["hasNextPage"]:
            continue
        held = list(found["nodes"])
        info = found["pageInfo"]
        while info["hasNextPage"]:
            page = rest[overflow.query, node["number"], node["updatedAt"], info["endCursor"]]
            held += page["nodes"]
            info = page["pageInfo"]
        node[overflow.field] = {**found, "nodes": held, "pageInfo": info}
    return node
