"""Raw pages → rows. Pages are kept as they came, so new rules are applied to old answers without asking GitHub again.

A pull request or issue can be on several pages: the copy with the latest `updatedAt` counts. What did not fit into its
lists lies on pages of its own; those are worked in where they belong to the copy that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.domain.collect import Issue, PullRequest, RepositoryState
from tasks.domain.names import RepoName
from tasks.scrape.kinds import ISSUE_BY_NUMBER, ISSUES, PULL_REQUESTS, REPOSITORY, PageKind
from tasks.scrape.nodes import Node, issue_of, pull_request_of, repository_of


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of GitHub."""

    repo: RepoName
    """As the repository is called in our lists, whatever GitHub calls it now."""
    kind: str
    """Name of the query."""
    data: Mapping[str, Any]
    """The answer's `data`."""
    number: int | None = None
    """What was asked for, where it was one number."""


@dataclass(frozen=True, slots=True)
class CollectedRows:
    """The rows that pages came to."""

    pulls: tuple[PullRequest, ...]
    """Sorted by repository and number, as are the issues."""
    issues: tuple[Issue, ...]
    repositories: tuple[RepositoryState, ...] = ()
    other_pulls: frozenset[int] = frozenset()
    """Numbers that were asked for as issues and are pull requests, mostly ones that were never merged."""


def rows_of(pages: Iterable[Page]) -> CollectedRows:
    """The rows of any pages of any repositories, in whatever order. `BadInput` for a node that is none."""
    pulls, issues = _Nodes(PULL_REQUESTS), _Nodes(ISSUES)
    repositories: dict[RepoName, RepositoryState] = {}
    other_pulls: set[int] = set()
    for page in pages:
        pulls.add(page)
        issues.add(page)
        if page.kind == REPOSITORY and (node := page.data.get("repository")):
            repositories[page.repo] = repository_of(page.repo, node)  # the latest page comes last
        if page.kind == ISSUE_BY_NUMBER and page.number is not None and _is_pull(page):
            other_pulls.add(page.number)
    return CollectedRows(
        tuple(pull_request_of(repo, node) for repo, node in pulls.whole()),
        tuple(issue_of(repo, node) for repo, node in issues.whole()),
        tuple(repositories.values()),
        frozenset(other_pulls),
    )


def _is_pull(page: Page) -> bool:
    node = (page.data.get("repository") or {}).get("issueOrPullRequest") or {}
    return node.get("__typename") == "PullRequest"


class _Nodes:
    """The newest copy of every node of one type, and what pages of its own hold of its lists."""

    def __init__(self, kind: PageKind) -> None:
        self.kind = kind
        self.fields = {overflow.query: overflow.field for overflow in kind.overflows}
        self.newest: dict[tuple[RepoName, int], Node] = {}
        self.rest: dict[tuple[RepoName, int], list[tuple[str, Node]]] = {}

    def add(self, page: Page) -> None:
        repository = page.data.get("repository") or {}
        if page.kind == self.kind.name:
            for node in (repository.get(self.kind.connection) or {}).get("nodes") or []:
                self._take(page.repo, node)
        elif page.kind == ISSUE_BY_NUMBER and self.kind is ISSUES:
            node = repository.get("issueOrPullRequest") or {}
            self._take(page.repo, node if node.get("__typename") == "Issue" else None)
        elif page.kind in self.fields and (node := repository.get(self.kind.single)):
            self.rest.setdefault((page.repo, node["number"]), []).append((self.fields[page.kind], node))

    def whole(self) -> Iterable[tuple[RepoName, Node]]:
        for key, node in sorted(self.newest.items()):
            rest = self.rest.get(key, [])
            same = [(name, more) for name, more in rest if more.get("updatedAt") == node["updatedAt"]]
            yield key[0], _longer(node, same) if same else node

    def _take(self, repo: RepoName, node: Node | None) -> None:
        if not node:
            return
        key = (repo, node["number"])
        if key not in self.newest or node["updatedAt"] >= self.newest[key]["updatedAt"]:
            self.newest[key] = node


def _longer(node: Node, rest: Iterable[tuple[str, Node]]) -> Node:
    """`node` with further entries of its lists. An entry that stands on two pages is taken once."""
    made = dict(node)
    for name, more in rest:
        connection = made.get(name) or {}
        entries = list(connection.get("nodes") or [])
        entries += [entry for entry in (more.get(name) or {}).get("nodes") or [] if entry not in entries]
        made[name] = {**connection, "nodes": entries}
    return made
