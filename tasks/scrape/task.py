"""Scrape: what GitHub knows of a repository becomes raw pages in the store. Only what is new is asked for.

Reads and writes `raw_page` and `sync_state`, writes `scrape_failure`, `pull_request`, `issue` and `issue_link`, and
asks GitHub.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import httpx

from tasks.adapters.clock import SystemClock
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.github.client import API, GitHub, RequestRetries
from tasks.adapters.github.tokens import Token, TokenPool, tokens_from
from tasks.adapters.store.tables.store import Store
from tasks.domain.collect import Issue, IssueLink, PullRequest
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import RepoName, repo_folder, snapshot_name
from tasks.domain.places import Places
from tasks.domain.undone import OfRepository
from tasks.scrape.dataset_rows import ImportResult, import_instances, snapshot_of
from tasks.scrape.fetching import SyncContext, owner_and_name
from tasks.scrape.links import known_of, links_of
from tasks.scrape.page_store import PageStore
from tasks.scrape.pages import CollectedRows
from tasks.scrape.sync import IssuesReport, SyncReport, fetch_issues, sync_repository

TOKEN_VARIABLES = ("SWT_GITHUB_TOKENS", "GITHUB_TOKEN", "GH_TOKEN")
"""The first that is set counts."""
REACH_S = 10.0
"""For the one question that finds out whether GitHub answers at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeRequest(OfRepository):
    """One repository to be brought up to date. Holds no token: Prefect keeps the parameters of its runs."""

    since: datetime | None = None
    """Go no further back than updates at this moment; null goes back to the first pull request."""
    url: str = API
    secret: str = ""
    """Name of a Prefect Secret with the tokens; empty reads the environment where the task runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSource(OfRepository):
    """Where a repository is fetched from."""

    source: str
    """A URL or a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingIssues(ScrapeRequest):
    """Single issues that links name and no page holds, because they are older than `since`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach(ScrapeRequest):
    """A repository that is to be collected, to be asked for first."""

    source: str = ""
    """Where its mirror comes from; empty uses the mirror as it is."""


def reach_repository(places: Places, unit: Reach) -> str:
    """Whether a token is accepted, and GitHub and the source of the mirror answer, in seconds; the repository's name.

    Raises `TokenRefused`, `GitHubGone`, `GitHubFailed`, `GitFailed`; `NotFound` where there is no mirror to use.
    """
    held = tokens(os.environ, unit.secret)
    with httpx.Client() as http:
        retries = RequestRetries(attempts=1, timeout_s=REACH_S)
        github = GitHub(pool=TokenPool(held, SystemClock()), http=http, url=unit.url, patience=retries)
        github.ask("repository", owner_and_name(unit.repo))
    mirrors = Mirrors(places.mirrors)
    if unit.source:
        mirrors.reach(unit.source)
    elif not mirrors.path(unit.repo).is_dir():
        raise NotFound(f"there is no mirror of {unit.repo}", hint=f"swt repo add {unit.repo}")
    return unit.repo


def scrape_repository(store: str, request: ScrapeRequest) -> SyncReport:
    """Backfill what is missing, refresh what changed. What GitHub does not give is in the report and in the store."""
    return sync_repository(_desk(store, request), request.repo, since=request.since)


def scrape_issues(store: str, request: MissingIssues) -> IssuesReport:
    """Fetch single issues; those that could not be had are in the report and in the store."""
    return fetch_issues(_desk(store, request), request.repo, request.numbers)


def record_pages(store: str, unit: OfRepository) -> RecordedCounts:
    """All raw pages of one repository become rows and links, anew; asks GitHub nothing."""
    held = Store(store)
    return record(held, unit.repo, PageStore(held).rows(unit.repo))


def update_mirror(places: Places, unit: MirrorSource) -> str:
    """Clone the repository, or fetch what is new in it; where the mirror is."""
    return str(Mirrors(places.mirrors).add(unit.repo, unit.source))


def import_snapshot(store: str, file: Path, name: str) -> tuple[Snapshot | None, ImportResult]:
    """The rows of a SWE-bench file as a snapshot, written unless the very same is there; null where none can be taken.

    And what was read. `UsageError` for a bad name, or for one that has other rows: a snapshot never changes
    under its name.
    """
    read = import_instances(file, snapshot=snapshot_name(name))
    if not read.instances:
        return None, read
    held = Store(store)
    made = snapshot_of(read.instances, snapshot=name, source=file.name, created_at=datetime.now(UTC))
    for known in held.read(Snapshot, snapshot=name):
        if Snapshot.content_of(held.read(TaskInstance, snapshot=name)) != made.content:
            message = f"snapshot {name} exists with other content ({known.instances} instances from {known.source})"
            raise UsageError(message, hint="snapshots are immutable: choose another name")
        return known, read
    held.write(read.instances, key=f"{name}-{made.content}")
    held.write([made], key=f"{name}-{made.content}")
    return made, read


def unknown_issues(store: str, repo: RepoName) -> tuple[int, ...]:
    """Numbers of the repository's own issues that a pull request closes, that no page holds, and that were never asked
    for: a number that is not found, or is a pull request's, will be so next time too."""
    held = Store(store)
    links = held.read(IssueLink, repo=repo, known=False, other_repository=False, is_pull_request=False)
    return tuple(sorted({link.issue for link in links} - PageStore(held).asked_for(repo)))


def tokens(environ: Mapping[str, str], secret: str) -> tuple[Token, ...]:
    """The tokens in the Prefect Secret with this name, or in the environment; empty where there are none."""
    if secret:
        from prefect.blocks.system import Secret

        block = Secret.load(secret)
        assert isinstance(block, Secret)
        return tokens_from(str(block.get()))
    return tokens_from(next((environ[name] for name in TOKEN_VARIABLES if environ.get(name)), ""))


def _desk(store: str, request: ScrapeRequest) -> SyncContext:
    return SyncContext(_client(request.url, tokens(os.environ, request.secret)), PageStore(Store(store)))


@lru_cache
def _client(url: str, held: tuple[Token, ...]) -> GitHub:
    """One client for all threads of this process, so that each token has one request in flight."""
    http = httpx.Client()
    atexit.register(http.close)
    return GitHub(pool=TokenPool(held, SystemClock()), http=http, url=url)


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
