"""Where raw pages, sync states and failures of a scrape are kept. Equal pages are one page, however often they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.adapters.github.queries import document, names
from tasks.adapters.store.warehouse import Store
from tasks.domain.names import RepoName, content_key
from tasks.domain.scraping import RawPage, ScrapeFailure, SyncState
from tasks.scrape.kinds import PageKind
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
        nodes: list[Mapping[str, Any]],
        *,
        repo: RepoName,
        kind: str,
        fetched_at: datetime,
        number: int | None = None,
        cursor: str | None = None,
    ) -> RawPage:
        """Write the page, then its row: a row means that the page is there."""
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        updated = sorted(moment(node["updatedAt"]) for node in nodes if "updatedAt" in node)
        row = RawPage(
            repo=repo,
            kind=kind,
            number=number,
            cursor=cursor,
            page=self.store.put_file(text.encode("utf-8", "surrogatepass")),
            nodes=len(nodes),
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
        """The distinct numbers that the pages of one kind hold."""
        found = (kept.data["repository"][kind.connection]["nodes"] for kept in self.pages(repo, (kind.name,)))
        return frozenset(node["number"] for nodes in found for node in nodes)

    def rows(self, repo: RepoName) -> CollectedRows:
        """All that the pages of one repository come to, without asking GitHub."""
        return rows_of(Page(kept.row.repo, kept.row.kind, kept.data) for kept in self.pages(repo, names()))

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
