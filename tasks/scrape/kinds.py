"""What is synced: two kinds of pages, and for each the lists within a node that can be longer than its page shows."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.scraping import PULL_REQUEST_PAGES


@dataclass(frozen=True, slots=True)
class Overflow:
    """A list within a node, and the query for what did not fit."""

    field: str
    query: str
    counted: bool = False
    """Whether it holds as many entries as GitHub counts, up to GitHub's own limit of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageKind:
    """One kind of page; `name` is its query and the `kind` of its rows."""

    name: str
    connection: str
    """Field of `repository` that holds the pages."""
    single: str
    """Field of `repository` that holds one node, in the queries for what did not fit."""
    overflows: tuple[Overflow, ...]
    filters_by_date: bool
    """Whether GitHub can leave out what was not updated since a moment."""
    numbers: str
    """Query for the numbers alone, a hundred at a time."""


PULL_REQUESTS = PageKind(
    name=PULL_REQUEST_PAGES,
    connection="pullRequests",
    single="pullRequest",
    overflows=(
        Overflow("files", "pull_request_files", counted=True),
        Overflow("commits", "pull_request_commits"),
        Overflow("closingIssuesReferences", "pull_request_closes"),
    ),
    filters_by_date=False,
    numbers="pull_request_numbers",
)
ISSUES = PageKind(
    name="issues",
    connection="issues",
    single="issue",
    overflows=(
        Overflow("comments", "issue_comments"),
        Overflow("userContentEdits", "issue_edits"),
        Overflow("timelineItems", "issue_events"),
    ),
    filters_by_date=True,
    numbers="issue_numbers",
)
KINDS = (PULL_REQUESTS, ISSUES)
REPOSITORY = "repository"
"""Query for the repository as a whole."""
ISSUE_BY_NUMBER = "issue_by_number"
"""Query for one issue that no page held."""
