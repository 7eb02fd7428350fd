"""GitHub data: raw pages, the progress of each sync, and failed requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.names import RepoName
from tasks.domain.table import table

PULL_REQUEST_PAGES = "pull_requests"
"""`kind` of the pages that list pull requests, and of their sync state."""


class ScrapeTrouble(StrEnum):
    """Why data are missing."""

    GONE = "gone"
    """Unavailable (404, 451, not found, forbidden): permanent."""
    FAILED = "failed"
    """All attempts failed; the next sync resumes here."""
    LOST = "lost"
    """GitHub counted more than the store had: the backfill restarted."""
    UNLISTED = "unlisted"
    """GitHub counts more than it lists: a new backfill changed nothing."""
    DELETED = "deleted"
    """GitHub does not list it any more: deleted, transferred, or converted to a discussion. Its row is left out."""


@table("repo", "kind", "number", "cursor", "page", folder="repo", files=("page",))
@dataclass(frozen=True, slots=True, kw_only=True)
class RawPage:
    """One raw reply of GitHub. Rules read these pages, so a new rule needs no request to GitHub."""

    repo: RepoName
    """The requested name; the page of a renamed repository has its new name in `nameWithOwner`."""
    kind: str
    """Name of the query in tasks/adapters/github/queries: `pull_requests`, `issues`, `pull_request_files` …"""
    number: int | None
    """Pull request or issue that owns a page of files, commits or comments; null for pages that list many."""
    cursor: str | None
    """Start of the page; null for a first page."""
    page: str
    """SHA-256 of the page under `files/` of the store: the reply's `data` as JSON, without `rateLimit`."""
    nodes: int
    """Number of pull requests, issues, files … in the page."""
    newest: datetime | None
    """Latest `updatedAt` in the page, UTC; null if it is empty."""
    oldest: datetime | None
    """Earliest `updatedAt` in the page, UTC."""
    query: str
    """Content key of the query's text."""
    fetched_at: datetime


@table("repo", "kind", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """Progress of the sync of one kind of page of one repository. Written only after the pages are stored."""

    repo: RepoName
    kind: str
    """`pull_requests` or `issues`."""
    watermark: datetime | None
    """Everything updated until then is stored, once the backfill is done; null if nothing is stored yet."""
    backfill_cursor: str | None
    """Where the backfill resumes; null at its start."""
    backfill_since: datetime | None
    """The backfill contains data updated since then; null if it goes back to the first number."""
    backfill_done: bool
    counted_at: datetime | None
    """When the store's count was last compared with GitHub's; null if never."""
    counted: int | None
    """Number of distinct numbers in the store at that time."""
    total: int | None
    """GitHub's count at that time; the difference is what GitHub counts but does not list."""
    synced_at: datetime
    """When pages were last read."""
    asked_since: datetime | None = None
    """The earliest day ever requested; null if everything was, and in rows older than this column."""

    @property
    def window(self) -> datetime | None:
        """Start of the requested window; None for all. Pages may contain pull requests merged earlier."""
        return self.asked_since or self.backfill_since

    @property
    def unlisted(self) -> int:
        """Number that GitHub counts but does not list, as far as known."""
        return max(0, (self.total or 0) - (self.counted or 0))


@table("repo", "kind", "number", "failed_at", folder="repo")
@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeFailure:
    """One request for data that failed permanently or temporarily."""

    repo: RepoName
    kind: str
    """Name of the query, or of the kind whose count is wrong."""
    number: int | None
    """The affected pull request or issue, if any."""
    trouble: ScrapeTrouble
    message: str
    failed_at: datetime
