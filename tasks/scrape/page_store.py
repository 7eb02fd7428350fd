"""Where raw pages, sync states and failures of a scrape are kept. Equal pages are one page, however often they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tasks.adapters.github.queries import document, names
from tasks.adapters.store.tables.store import Store
from tasks.domain.names import RepoName, content_key
from tasks.domain.scraping import RawPage, ScrapeFailure, ScrapeTrouble, SyncState
from tasks.scrape.kinds import ISSUE_BY_NUMBER, ISSUES, PULL_REQUESTS, PageKind
from tasks.scrape.pages import CollectedRows, Page, rows_of


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A raw page and its row."""

    row: RawPage
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageStore:
    """The part of the store that a scrape writes."""

    store: Store

    def keep(
        self,
        data: Mapping[str, Any],
        nodes: Sequence[Mapping[str, Any] | None],
        *,
        repo: RepoName,
        kind: str,
        fetched_at: datetime,
        number: int | None = None,
        cursor: str | None = None,
    ) -> RawPage:
        """Write the page, then its row: a row means that the page is there."""
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        there = [node for node in nodes if node]
        updated = sorted(moment(node["updatedAt"]) for node in there if "updatedAt" in node)
        row = RawPage(
            repo=repo,
            kind=kind,
            number=number,
            cursor=cursor,
            page=self.store.put_file(text.encode("utf-8", "surrogatepass")),
            nodes=len(there),
            newest=updated[-1] if updated else None,
            oldest=updated[0] if updated else None,
            query=content_key("query", document(kind)),
            fetched_at=fetched_at,
        )
        self.store.write([row], key=content_key("raw_page", kind, number, cursor, row.page))
        return row

    def pages(self, repo: RepoName, kinds: tuple[str, ...]) -> Iterator[StoredPage]:
        """The raw pages of these kinds in the order in which they came."""
        rows = self.store.read(RawPage, repo=repo, kind=kinds)
        for row in sorted(rows, key=lambda row: (row.fetched_at, row.kind, row.number or 0, row.page)):
            with self.store.open_file(row.page) as file:
                yield StoredPage(row, json.load(file))

    def numbers(self, repo: RepoName, kind: PageKind) -> frozenset[int]:
        """The distinct numbers that the pages of one kind hold, without those that GitHub lists no longer."""
        found = (kept.data["repository"][kind.connection]["nodes"] for kept in self.pages(repo, (kind.name,)))
        updated: dict[int, datetime] = {}
        for node in (node for nodes in found for node in nodes if node):
            when = moment(node["updatedAt"])
            updated[node["number"]] = max(when, updated.get(node["number"], when))
        gone = self.deleted(repo, kind)
        return frozenset(number for number, when in updated.items() if number not in gone or gone[number] < when)

    def deleted(self, repo: RepoName, kind: PageKind) -> dict[int, datetime]:
        """Numbers that GitHub listed no longer, and when; what was updated since is back."""
        told = self.store.read(ScrapeFailure, repo=repo, kind=kind.name, trouble=ScrapeTrouble.DELETED)
        found: dict[int, datetime] = {}
        for row in sorted(told, key=lambda row: row.failed_at):
            if row.number is not None:
                found[row.number] = row.failed_at
        return found

    def rows(self, repo: RepoName) -> CollectedRows:
        """All that the pages of one repository come to, without asking GitHub; not what was deleted there."""
        pages = (Page(kept.row.repo, kept.row.kind, kept.data, kept.row.number) for kept in self.pages(repo, names()))
        rows = rows_of(pages)
        pulls, issues = self.deleted(repo, PULL_REQUESTS), self.deleted(repo, ISSUES)
        return replace(
            rows,
            pulls=tuple(row for row in rows.pulls if row.number not in pulls or pulls[row.number] < row.updated_at),
            issues=tuple(row for row in rows.issues if row.number not in issues or issues[row.number] < row.updated_at),
        )

    def asked_for(self, repo: RepoName) -> frozenset[int]:
        """Numbers that were asked for one by one, and are there or are not: asking again changes neither."""
        kept = self.store.read(RawPage, repo=repo, kind=ISSUE_BY_NUMBER)
        gone = self.store.read(ScrapeFailure, repo=repo, kind=ISSUE_BY_NUMBER, trouble=ScrapeTrouble.GONE)
        numbers = [row.number for row in kept] + [row.number for row in gone]
        return frozenset(number for number in numbers if number is not None)

    def states(self, repo: RepoName) -> dict[str, SyncState]:
        """How far the sync of each kind is, by kind; empty before the first one."""
        return {state.kind: state for state in self.store.read(SyncState, repo=repo)}

    def save(self, state: SyncState) -> None:
        self.store.write([state], key=f"state-{state.kind}")

    def fail(self, failure: ScrapeFailure) -> None:
        self.store.write([failure])


def moment(text: str) -> datetime:
    """GitHub's `2026-11-22T04:53:03Z`, aware."""
    return datetime.fromisoformat(text)
