"""Raw pages → rows. Pages are kept as they came, so new rules are applied to old answers without asking GitHub again.

A pull request or issue can be on several pages: the copy with the latest `updatedAt` counts. What did not fit into its
lists lies on pages of its own; those are worked in where they belong to the copy that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tasks.domain.collect import Issue, PullRequest
from tasks.domain.names import RepoName
from tasks.scrape.nodes import Node, issue_of, pull_request_of

PULL_PAGES = "pull_requests"
ISSUE_PAGES = "issues"
MORE_OF_PULLS: Mapping[str, str] = MappingProxyType(
    {
        "pull_request_files": "files",
        "pull_request_commits": "commits",
        "pull_request_closes": "closingIssuesReferences",
    }
)
"""Kind of page → the list that it goes on with."""
MORE_OF_ISSUES: Mapping[str, str] = MappingProxyType(
    {
        "issue_comments": "comments",
        "issue_edits": "userContentEdits",
        "issue_events": "timelineItems",
    }
)
ONE_ISSUE = "issue_by_number"


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of GitHub."""

    repo: RepoName
    """As the repository is called in our lists, whatever GitHub calls it now."""
    kind: str
    """Name of the query."""
    data: Mapping[str, Any]
    """The answer's `data`."""


@dataclass(frozen=True, slots=True)
class Collected:
    """The rows that pages came to."""

    pulls: tuple[PullRequest, ...]
    """Sorted by repository and number, as are the issues."""
    issues: tuple[Issue, ...]


def rows_of(pages: Iterable[Page]) -> Collected:
    """The rows of any pages of any repositories, in whatever order. `BadInput` for a node that is none."""
    pulls = _Nodes(PULL_PAGES, "pullRequests", "pullRequest", MORE_OF_PULLS)
    issues = _Nodes(ISSUE_PAGES, "issues", "issue", MORE_OF_ISSUES)
    for page in pages:
        pulls.add(page)
        issues.add(page)
    return Collected(
        tuple(pull_request_of(repo, node) for repo, node in pulls.whole()),
        tuple(issue_of(repo, node) for repo, node in issues.whole()),
    )


class _Nodes:
    """The newest copy of every node of one type, and what pages of its own hold of its lists."""

    def __init__(self, kind: str, many: str, one: str, more: Mapping[str, str]) -> None:
        self.kind, self.many, self.one, self.more = kind, many, one, more
        self.newest: dict[tuple[RepoName, int], Node] = {}
        self.rest: dict[tuple[RepoName, int], list[tuple[str, Node]]] = {}

    def add(self, page: Page) -> None:
        repository = page.data.get("repository") or {}
        if page.kind == self.kind:
            for node in (repository.get(self.many) or {}).get("nodes") or []:
                self._take(page.repo, node)
        elif page.kind == ONE_ISSUE:
            node = repository.get("issueOrPullRequest") or {}
            if node.get("__typename", "").lower() == self.one.lower() and "id" in node:
                self._take(page.repo, node)
        elif page.kind in self.more:
            node = repository.get(self.one) or {}
            if node:
                self.rest.setdefault((page.repo, node["number"]), []).append((self.more[page.kind], node))

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
