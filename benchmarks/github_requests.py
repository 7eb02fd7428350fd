"""Requests to GitHub per 1,000 merged pull requests: our sync against the REST calls of SWE-bench's `collect`.

Both read the same history, served by the local GitHub. Ours are counted as they are sent. Theirs are computed from what
their collector does, for merged pull requests alone (it also reads closed ones that were not merged, so it asks more):

    list       a page of 100 pull requests, and an empty page at the end
    commits    for every pull request: pages of 100 commits, and an empty page
    diff       for every pull request that names an issue
    issue      for every issue so named: the issue; the commits again; its comments in pages of 100, and an empty page

Without an issue file the local GitHub knows few issues, and ours reads all there are. So ours is also given with as
many full pages of issues more as there are numbers that are no merged pull request; theirs stays what it is.

The checks of its rate limit after each list page are left out, because GitHub does not charge them.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx

from tasks.adapters.clock import SystemClock
from tasks.adapters.github.client import GitHub
from tasks.adapters.github.tokens import TokenPool, tokens_from
from tasks.adapters.store.rows.store import Store
from tasks.domain.names import RepoName
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.issues import mentioned
from tasks.rehearsal.local_github.serve import transport
from tasks.rehearsal.local_github.world import LocalRepository, World, open_repository
from tasks.scrape.fetching import SyncContext
from tasks.scrape.page_store import PageStore
from tasks.scrape.sync import sync_repository

HEADS = (
    "repository",
    "pull requests",
    "ours",
    "per 1,000",
    "with all issues",
    "points per 1,000",
    "REST",
    "per 1,000",
    "ratio",
    "again",
    "a month later",
    "CPU s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One repository."""

    repo: str
    pulls: int
    ours: int
    """Requests of a first sync, issues among them."""
    at_most: int
    """The same if every other number were an issue: in pages of 50."""
    points: int
    """What GitHub would charge for those, of 5,000 an hour."""
    second: int
    """Requests of a second sync with nothing new."""
    again: int
    """Requests of a third sync a month later."""
    fresh: int
    """Pull requests merged in that month."""
    theirs: int
    """REST requests, each charged as one of 5,000 an hour."""
    seconds: float
    """CPU seconds of all three syncs, the server's among them."""


def main() -> None:
    """`python -m benchmarks.github_requests pallets/flask=MIRROR pytest-dev/pytest=MIRROR`"""
    parser = argparse.ArgumentParser(description="Requests per 1,000 pull requests.")
    parser.add_argument("repositories", nargs="+", help="OWNER/NAME=PATH of a git repository")
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
    for given in parser.parse_args().repositories:
        name, _, path = given.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            print(_row(measure(name, Path(path), Path(folder))), flush=True)


def measure(name: str, path: Path, folder: Path) -> Count:
    """Sync the history up to its last month, again, and then that month."""
    held = open_repository(name, path, issues=None, scratch=folder)
    last = max(pull.merged for pull in held.pulls.values())
    world = World({name: held}, until=last - timedelta(days=30))
    begun = time.process_time()
    client = GitHub(
        pool=TokenPool(tokens_from("any"), SystemClock()),
        http=httpx.Client(transport=transport(Hub(world, budget=10**9))),
        url="http://github.test/graphql",
    )
    ours = _synced(client, folder, RepoName(name))
    points = client.points
    pulls = sum(1 for _ in world.pulls(held))
    theirs = rest_requests(held, [pull.number for pull in world.pulls(held)])
    second = _synced(client, folder, RepoName(name)) - ours
    world.until = None
    again = _synced(client, folder, RepoName(name)) - ours - second
    return Count(
        repo=name,
        pulls=pulls,
        ours=ours,
        at_most=ours + math.ceil((max(held.pulls) - pulls - len(held.issues)) / 50),
        points=points,
        second=second,
        again=again,
        fresh=len(held.pulls) - pulls,
        theirs=theirs,
        seconds=time.process_time() - begun,
    )


def rest_requests(held: LocalRepository, numbers: Iterable[int]) -> int:
    """What the REST collector asks for these pull requests."""
    listed = list(numbers)
    total = _pages(len(listed))
    for number in listed:
        pull = held.pulls[number]
        commits = _pages(len(pull.commits))
        named = {issue for issue, _ in mentioned(pull)}
        total += commits + bool(named)
        for issue in named:
            total += 1 + commits + _pages(len(held.issues[issue].comments) if issue in held.issues else 0)
    return total


def _pages(count: int) -> int:
    """Full and partly full pages of 100, and the empty one that ends the loop."""
    return math.ceil(count / 100) + 1


def _synced(client: GitHub, folder: Path, repo: RepoName) -> int:
    """Sync, and how many requests were sent in all."""
    report = sync_repository(SyncContext(client, PageStore(Store(str(folder / "store")))), repo)
    assert not report.failures
    return client.sent.total()


def _row(count: Count) -> str:
    per = 1000 / count.pulls
    cells = (
        count.repo,
        f"{count.pulls:,}",
        f"{count.ours:,}",
        f"{count.ours * per:.0f}",
        f"{count.at_most * per:.0f}",
        f"{count.points * per:.0f}",
        f"{count.theirs:,}",
        f"{count.theirs * per:,.0f}",
        f"{count.theirs / count.at_most:.0f}",
        str(count.second),
        f"{count.again} requests for {count.fresh} new",
        f"{count.seconds:.0f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
