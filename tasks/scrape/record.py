"""Collected rows and their links, into the store."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.store.rows.store import Store
from tasks.domain.collect import Issue, IssueLink, PullRequest
from tasks.domain.names import RepoName, repo_folder
from tasks.scrape.links import known_of, links_of
from tasks.scrape.pages import CollectedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCounts:
    """How many rows of each table were written."""

    pulls: int
    issues: int
    links: int


def record(store: Store, repo: RepoName, collected: CollectedRows) -> RecordedCounts:
    """Write `pull_request`, `issue` and `issue_link` of one repository; all its links are made anew."""
    others = ((repo, number) for number in collected.other_pulls)
    known = known_of(collected.pulls, collected.issues, others, collected.repositories)
    links = [link for pull in collected.pulls for link in links_of(pull, known)]
    key = f"collected-{repo_folder(repo)}"
    for kind, rows in ((PullRequest, collected.pulls), (Issue, collected.issues), (IssueLink, links)):
        store.replace(kind, rows, key=key, repo=repo)
    store.write(collected.repositories, key=key)
    return RecordedCounts(pulls=len(collected.pulls), issues=len(collected.issues), links=len(links))
