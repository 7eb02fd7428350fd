"""What was asked of GitHub: the raw pages that came, how far each sync is, and what could not be had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import RepoName
from tasks.domain.table import table

PULL_REQUEST_PAGES = "pull_requests"
"""`kind` of the pages that list pull requests, and of how far their sync is."""


class ScrapeTrouble(StrEnum):
    """Why something is missing."""

    GONE = "gone"
    """Not there for us (404, 451, not found, forbidden): permanent."""
    FAILED = "failed"
    """Attempts were used up; the next sync goes on where this one stopped."""
    LOST = "lost"
    """GitHub counted more than we held: the backfill started anew."""
    UNLISTED = "unlisted"
    """GitHub counts more than it lists: a backfill from the start changed nothing."""
    DELETED = "deleted"
    """GitHub lists it no longer: deleted, moved to another repository, or made a discussion. Its row is left out."""


@table("repo", "kind", "number", "cursor", "page", folder="repo", files=("page",))
@dataclass(frozen=True, slots=True, kw_only=True)
class RawPage:
    """One reply of GitHub, kept as it came. Rules read these, so a new rule asks GitHub nothing."""

    repo: RepoName
    """As it was asked for; a renamed repository answers with its new name, `nameWithOwner` in the page."""
    kind: str
    """Name of the query in tasks/adapters/github/queries: `pull_requests`, `issues`, `pull_request_files` …"""
    number: int | None
    """Pull request or issue that a page of its files, commits or comments belongs to; null for pages of many."""
    cursor: str | None
    """Where the page starts; null for a first page."""
    page: str
    """SHA-256 of the page under `files/` of the store: the reply's `data` as JSON, without `rateLimit`."""
    nodes: int
    """How many pull requests, issues, files … the page holds."""
    newest: datetime | None
    """Latest `updatedAt` in it, UTC; null where it holds none."""
    oldest: datetime | None
    """Earliest `updatedAt` in it, UTC."""
    query: str
    """Content key of the query's text."""
    fetched_at: datetime


@table("repo", "kind", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """How far the sync of one kind of page of one repository is. Written only when the pages it speaks of are kept."""

    repo: RepoName
    kind: str
    """`pull_requests` or `issues`."""
    watermark: datetime | None
    """Everything updated until then is here, once the backfill is done; null where there is nothing yet."""
    backfill_cursor: str | None
    """Where the backfill goes on; null at its start."""
    backfill_since: datetime | None
    """The backfill holds what was updated since; null where it goes back to the first number."""
    backfill_done: bool
    counted_at: datetime | None
    """When our count was last held against GitHub's; null where never."""
    counted: int | None
    """How many distinct numbers we held then."""
    total: int | None
    """How many GitHub counted then; what it counts more than it lists is the difference."""
    synced_at: datetime
    """When pages were last read."""
    asked_since: datetime | None = None
    """The earliest day that was ever asked for; null where everything was, and in rows of before it was kept."""

    @property
    def window(self) -> datetime | None:
        """What was merged before is not asked for, though pages bring it; null where everything is asked for."""
        return self.asked_since or self.backfill_since

    @property
    def unlisted(self) -> int:
        """How many GitHub counts more than it lists, as far as is known."""
        return max(0, (self.total or 0) - (self.counted or 0))


@table("repo", "kind", "number", "failed_at", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeFailure:
    """Something that could not be had."""

    repo: RepoName
    kind: str
    """Name of the query, or of the kind whose count is wrong."""
    number: int | None
    """Pull request or issue, where it is about one."""
    trouble: ScrapeTrouble
    message: str
    failed_at: datetime
