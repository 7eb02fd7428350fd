"""What comes of each thing that GitHub, the network or the clock can do wrong, tried on the local GitHub.

    python -m benchmarks.github_faults

A row for each fault: the requests of the sync (and of those after it that it takes), the time waited by a clock that
does not really wait, what is on record, and whether the rows are those of a sync without faults. Ends with 1 where a
fault has another outcome than the one that is written down here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import httpx

from tasks.adapters.github.client import GitHub, PageSize
from tasks.adapters.github.failures import NoTokenAccepted
from tasks.adapters.github.tokens import TokenPool, tokens_from
from tasks.adapters.store.rows.store import Store
from tasks.domain.names import RepoName
from tasks.domain.scraping import ScrapeFailure
from tasks.rehearsal.demo_history import build_mirror
from tasks.rehearsal.local_github.faults import Dice, GitHubFault
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.serve import transport
from tasks.rehearsal.local_github.world import LocalRepository, World, open_repository
from tasks.rehearsal.quick_clock import QuickClock
from tasks.scrape.fetching import SyncContext
from tasks.scrape.kinds import KINDS
from tasks.scrape.page_store import PageStore
from tasks.scrape.pages import CollectedRows
from tasks.scrape.record import record
from tasks.scrape.sync import COUNT_EVERY, fetch_issues, sync_repository
from tasks.scrape.task import unknown_issues

REPO = RepoName("rolling-swt-bench/larder")
DEMO = Path(__file__).parents[1] / "data" / "demo"
RATE, SEED, SYNCS = 0.3, 1, 20
EQUAL, RECORDED, LESS, REFUSED = "as without", "kept as they were", "without it", "nothing is asked"
HEADS = ("fault", "requests", "waited, s", "syncs", "on record", "rows")


@dataclass(frozen=True, slots=True)
class WrongClock:
    """The same, seen by somebody whose clock is off."""

    inner: QuickClock
    off: timedelta

    def now(self) -> datetime:
        return self.inner.now() + self.off

    def monotonic(self) -> float:
        return self.inner.monotonic()

    def sleep(self, seconds: float) -> None:
        self.inner.sleep(seconds)


@dataclass(slots=True)
class FaultStage:
    """A GitHub, a client and a store for one fault."""

    hub: Hub
    context: SyncContext
    clock: QuickClock
    syncs: int = 0
    recorded: list[str] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.hub.world

    def sync(self, *, times: int = SYNCS) -> None:
        """Until nothing is left, as a schedule would."""
        for _ in range(times):
            self.syncs += 1
            if not sync_repository(self.context, REPO).failures:
                return

    def week(self) -> None:
        self.clock.sleep(COUNT_EVERY.total_seconds())
        self.clock.slept.clear()

    def rows(self) -> CollectedRows:
        return self.context.page_store.rows(REPO)


@dataclass(frozen=True, slots=True)
class TriedFault:
    """What goes wrong, and what is to come of it."""

    name: str
    play: Callable[[FaultStage], None]
    rows: str = EQUAL
    off: timedelta = timedelta(0)
    """How wrong our clock is."""
    secrets: str = "first second"


def _dice(fault: GitHubFault) -> Callable[[FaultStage], None]:
    def play(stage: FaultStage) -> None:
        stage.hub.dice = Dice({fault: RATE}, SEED)
        stage.sync()
        if fault is GitHubFault.CUT_LIST:  # cut at each reading, it is found when it is counted again
            stage.hub.dice = Dice()
            stage.week()
            stage.sync()
        if fault is GitHubFault.MOVING:
            stage.world.repositories[REPO].touched.clear()
            stage.world.answers.clear()

    return play


def _few_points(stage: FaultStage) -> None:
    stage.hub.budget = 3
    stage.sync()


def _vanished(status: int) -> Callable[[FaultStage], None]:
    def play(stage: FaultStage) -> None:
        stage.sync()
        stage.world.vanished[REPO] = status
        stage.sync(times=1)

    return play


def _unlisted(stage: FaultStage) -> None:
    stage.world.unlisted[REPO] = 2
    stage.sync()
    stage.week()
    stage.sync()


def _deleted(stage: FaultStage) -> None:
    stage.sync()
    stage.world.deleted[REPO] = {2}
    stage.week()
    stage.sync()


def _lost(stage: FaultStage) -> None:
    """Appears only later, with an old date: no refresh can see it."""
    whole = stage.world.repositories[REPO]
    stage.world.repositories[REPO] = replace(whole, pulls={n: pull for n, pull in whole.pulls.items() if n != 5})
    stage.sync()
    stage.world.repositories[REPO] = whole
    stage.world.answers.clear()
    stage.week()
    stage.sync()


def _renamed(stage: FaultStage) -> None:
    stage.world.renamed[REPO] = "somebody/else"
    stage.sync()


def _forgotten(stage: FaultStage) -> None:
    stage.sync()
    state = stage.context.page_store.states(REPO)["pull_requests"]
    stage.context.page_store.save(replace(state, backfill_cursor="gone", backfill_done=False))
    stage.sync()


def _no_such_numbers(stage: FaultStage) -> None:
    """A text says `Fixes #900`. The second and the third time nothing is asked."""
    whole = stage.world.repositories[REPO]
    wrong = replace(whole.pulls[5], body="Fixes #900")
    stage.world.repositories[REPO] = replace(whole, pulls={**whole.pulls, 5: wrong})
    stage.sync()
    store = stage.context.page_store.store
    for _ in range(3):
        record(store, REPO, stage.rows())
        fetch_issues(stage.context, REPO, unknown_issues(store.url, REPO))


def _refused(stage: FaultStage) -> None:
    stage.hub.refused = {"first"}
    stage.sync()


def _all_refused(stage: FaultStage) -> None:
    stage.hub.refused = {"first", "second"}
    try:
        stage.sync()
    except NoTokenAccepted as error:
        stage.recorded.append(error.slug)


class ProcessKilled(BaseException):
    """The process is gone."""


@dataclass(slots=True)
class DyingDisk:
    """Takes the process with it at its n-th write."""

    inner: object
    left: int

    def write(self, path: str, data: bytes) -> None:
        if self.left == 0:
            raise ProcessKilled
        self.left -= 1
        self.inner.write(path, data)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def _killed(stage: FaultStage) -> None:
    """At every third write, one after the other, each time further."""
    store = stage.context.page_store.store
    disk = store.disk
    for writes in range(0, 30, 3):
        store.disk = DyingDisk(disk, writes)  # type: ignore[assignment]
        try:
            stage.sync(times=1)
        except ProcessKilled:
            continue
    store.disk = disk
    stage.sync()


FAULTS = (
    *(TriedFault(fault.value, _dice(fault)) for fault in GitHubFault),
    TriedFault("points for three pages an hour", _few_points),
    TriedFault("the same, our clock three hours ahead", _few_points, off=timedelta(hours=3)),
    TriedFault("the same, our clock three hours behind", _few_points, off=timedelta(hours=-3)),
    TriedFault("repository gone (404) after the first sync", _vanished(404), RECORDED),
    TriedFault("repository blocked (451) after the first sync", _vanished(451), RECORDED),
    TriedFault("repository renamed", _renamed),
    TriedFault("counts two issues more than it lists", _unlisted),
    TriedFault("a pull request appears late, with an old date", _lost),
    TriedFault("an issue is deleted", _deleted, LESS),
    TriedFault("a pull request closes a number that is not there", _no_such_numbers),
    TriedFault("a cursor is forgotten", _forgotten),
    TriedFault("one of two tokens is refused", _refused),
    TriedFault("every token is refused", _all_refused, REFUSED),
    TriedFault("killed at ten writes, one after the other", _killed),
)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = _served(Path(folder))
        clean = _stage(served, Path(folder) / "clean", TriedFault("none", lambda stage: stage.sync()))
        clean.sync()
        print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
        print(_row("none", clean, EQUAL))
        wrong = 0
        for number, fault in enumerate(FAULTS):
            stage = _stage(served, Path(folder) / str(number), fault)
            fault.play(stage)
            found = _outcome(stage, clean.rows())
            wrong += found != fault.rows
            print(_row(fault.name, stage, found), flush=True)
    print(f"\n{len(FAULTS)} faults, {wrong} with another outcome than is written down", file=sys.stderr)
    sys.exit(wrong > 0)


def _served(folder: Path) -> LocalRepository:
    mirror = build_mirror(DEMO, folder / "larder.git")
    return open_repository(REPO, mirror, issues=DEMO / "issues.jsonl", scratch=folder, license="MIT")


def _stage(served: LocalRepository, root: Path, fault: TriedFault) -> FaultStage:
    clock = QuickClock()
    ours = WrongClock(clock, fault.off)
    hub = Hub(World({REPO: replace(served, touched={})}), clock=clock)
    client = GitHub(
        pool=TokenPool(tokens_from(fault.secrets), ours),
        http=httpx.Client(transport=transport(hub)),
        url="http://github.test/graphql",
        clock=ours,
    )
    sizes = {kind.name: PageSize(now=3, floor=2, ceiling=4) for kind in KINDS}
    return FaultStage(hub, SyncContext(client, PageStore(Store(str(root))), sizes), clock)


def _outcome(stage: FaultStage, clean: CollectedRows) -> str:
    rows = stage.rows()
    if not rows.pulls:
        return REFUSED
    if stage.world.vanished:
        return RECORDED if rows.pulls == clean.pulls else "other"
    if stage.world.deleted:
        kept = tuple(issue for issue in clean.issues if issue.number not in stage.world.deleted[REPO])
        return LESS if rows.issues == kept else "other"
    return EQUAL if _plain(rows) == _plain(clean) else "other"


def _plain(rows: CollectedRows) -> Mapping[str, object]:
    """What has to be equal: numbers, texts, files and lists; labels and dates change where GitHub moves on."""
    return {
        "pulls": [(row.number, row.title, row.paths, row.merge_commit, row.complete) for row in rows.pulls],
        "issues": [(row.number, row.title, row.body, row.comment_texts, row.complete) for row in rows.issues],
    }


def _row(name: str, stage: FaultStage, rows: str) -> str:
    found = stage.context.page_store.store.read(ScrapeFailure, repo=REPO)
    told = [*stage.recorded, *sorted(row.trouble.value for row in found)]
    counted = ", ".join(f"{told.count(one)} {one}" for one in dict.fromkeys(told))
    cells = (name, stage.context.github.sent.total(), round(sum(stage.clock.slept)), stage.syncs, counted or "—", rows)
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
