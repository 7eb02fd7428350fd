"""Syncs against a local GitHub with faults, and syncs that are killed: the rows are those of a clean one."""

from __future__ import annotations

import gzip
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from small_github import REPO, SECRETS, clean, context_of, hub_of, synced, troubles, week, world_of

from tasks.adapters.github.client import RequestRetries
from tasks.adapters.github.tokens import Token
from tasks.domain.scraping import ScrapeFailure, ScrapeTrouble
from tasks.scrape.fetching import SyncContext
from tasks.scrape.kinds import ISSUES, PULL_REQUESTS
from tasks.scrape.pages import CollectedRows
from tasks.scrape.sync import COUNT_EVERY, sync_repository
from tests.fakes.local_github.faults import Dice, GitHubFault
from tests.fakes.local_github.hub import Hub
from tests.fakes.local_github.world import LocalRepository, World
from tests.fakes.quick_clock import QuickClock

ALL_FAULTS = tuple(GitHubFault)
STILL = tuple(fault for fault in GitHubFault if fault is not GitHubFault.MOVING)
"""Faults that change nothing in the repository."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_whatever_goes_wrong_the_rows_are_those_of_a_clean_sync(
    small_repository: LocalRepository,
    clean_rows: CollectedRows,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    seed: int,
) -> None:
    with caplog.at_level(logging.DEBUG):
        hub, context = faulted(small_repository, tmp_path, seed, STILL)
    assert hub.faults
    assert context.page_store.rows(REPO) == clean_rows
    assert not leaked(caplog.text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_whatever_goes_wrong_and_changes_the_next_quiet_sync_has_it_all(
    small_repository: LocalRepository, tmp_path: Path, seed: int
) -> None:
    hub, context = faulted(small_repository, tmp_path, seed, ALL_FAULTS)
    hub.dice = Dice()
    assert synced(context, tries=1) == clean(hub.world, tmp_path / "clean")


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_hundreds_of_faulted_syncs(
    small_repository: LocalRepository, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`SWT_FAULTED_SYNCS=300` for all of them; a part by default, because each takes some seconds."""
    faults, syncs = 0, int(os.environ.get("SWT_FAULTED_SYNCS", "20"))
    for seed in range(1000, 1000 + syncs):
        with caplog.at_level(logging.DEBUG):
            hub, context = faulted(small_repository, tmp_path / str(seed), seed, ALL_FAULTS)
        faults += hub.faults.total()
        hub.dice = Dice()
        assert synced(context, tries=1) == clean(hub.world, tmp_path / f"clean-{seed}")
        assert not leaked(caplog.text)
        caplog.clear()
    assert faults > 10 * syncs


def faulted(
    repository: LocalRepository, root: Path, seed: int, faults: tuple[GitHubFault, ...]
) -> tuple[Hub, SyncContext]:
    """A sync with random faults at random rates and page sizes, repeated until it comes through."""
    random = Random(seed)
    weights = [random.random() for _ in faults]
    share = random.uniform(0.25, 0.6) / sum(weights)
    dice = Dice({fault: weight * share for fault, weight in zip(faults, weights, strict=True)}, seed)
    hub = hub_of(world_of(repository), QuickClock(), dice)
    context = context_of(hub, root / "store", size=random.randint(2, 8))
    synced(context)
    assert not leaked("".join(map(repr, context.page_store.store.read(ScrapeFailure))))
    return hub, context


def leaked(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


class Killed(BaseException):
    """The process is gone."""


@dataclass(frozen=True, slots=True)
class DyingDisk:
    """A disk that works until its n-th write, and then takes the process with it."""

    inner: Any
    alive: Callable[[], bool]

    def write(self, path: str, data: bytes) -> None:
        if not self.alive():
            raise Killed
        self.inner.write(path, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def dying(context: SyncContext, writes: int) -> SyncContext:
    left = iter(range(writes))
    context.page_store.store.disk = DyingDisk(context.page_store.store.disk, lambda: next(left, None) is not None)
    return context


@pytest.mark.slow
@pytest.mark.parametrize("writes", range(0, 60, 6))
def test_a_kill_at_any_write_loses_nothing(small_repository: LocalRepository, tmp_path: Path, writes: int) -> None:
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock())
    with suppress(Killed):
        sync_repository(dying(context_of(hub, tmp_path / "store"), writes), REPO)
    hub.world.touch(hub.world.repositories[REPO], 1, hub.clock.now())
    assert synced(context_of(hub, tmp_path / "store"), tries=1) == clean(world, tmp_path / "clean")


def test_a_backfill_goes_on_where_it_was_killed(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock())
    with suppress(Killed):
        sync_repository(dying(context_of(hub, tmp_path / "store", size=2), 16), REPO)
    before = hub.asked["PullRequests"]
    assert before > 3
    synced(context_of(hub, tmp_path / "store", size=2), tries=1)
    other = hub_of(world_of(small_repository), QuickClock())
    synced(context_of(other, tmp_path / "other", size=2), tries=1)
    assert hub.asked["PullRequests"] - before < other.asked["PullRequests"], "the second part is less than the whole"


def test_the_watermark_moves_only_when_every_page_is_kept(small_repository: LocalRepository, tmp_path: Path) -> None:
    world = world_of(small_repository, until=week(6))
    hub = hub_of(world, QuickClock())
    synced(context_of(hub, tmp_path / "store", size=2), tries=1)
    context = context_of(hub, tmp_path / "store", size=2)
    old = context.page_store.states(REPO)["pull_requests"].watermark
    world.until = None
    with suppress(Killed):
        sync_repository(dying(context, 6), REPO)
    rest = context_of(hub, tmp_path / "store", size=2)
    assert rest.page_store.numbers(REPO, PULL_REQUESTS) > {14}, "newer pages are there"
    assert rest.page_store.states(REPO)["pull_requests"].watermark == old
    assert synced(rest, tries=1) == clean(world, tmp_path / "clean")


def test_what_changes_during_the_backfill_is_found_by_the_refresh(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    """Each answer is followed by a change, so that nodes move from pages not yet read to pages read already."""
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock(), Dice({GitHubFault.MOVING: 0.5}, 7))
    context = context_of(hub, tmp_path / "store", size=2)
    synced(context)
    hub.dice = Dice()
    assert sum(len(times) for times in world.repositories[REPO].touched.values()) > 5
    assert synced(context, tries=1) == clean(world, tmp_path / "clean")


def test_a_page_that_never_stands_still_is_given_up_and_recorded(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    """Number 11 and 13 need further pages, and change before those can be read."""
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock())
    hub.clock = Restless(world, QuickClock())
    context = context_of(hub, tmp_path / "store")
    failures = sync_repository(context, REPO).failures
    assert {failure.trouble for failure in failures} == {ScrapeTrouble.FAILED}
    assert "changed each of the 8 times" in failures[0].message


@dataclass(slots=True)
class Restless:
    """With every look at the clock somebody changes number 11 and 5."""

    world: World
    inner: QuickClock

    def now(self) -> Any:
        self.inner.moment += timedelta(seconds=1)
        for number in (11, 5):
            self.world.touch(self.world.repositories[REPO], number, self.inner.moment)
        return self.inner.moment

    def sleep(self, seconds: float) -> None:
        self.inner.sleep(seconds)


def test_attempts_are_bounded_and_recorded(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock(), Dice({GitHubFault.BAD_GATEWAY: 1.0}))
    context = context_of(hub, tmp_path / "store", patience=RequestRetries(attempts=4))
    report = sync_repository(context, REPO)
    assert hub.asked.total() == 4
    assert report.failures[0].message == "repository of small project failed 4 times, lastly: HTTP 502"


def test_a_cursor_that_github_forgot_starts_the_backfill_anew(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock())
    with suppress(Killed):
        sync_repository(dying(context_of(hub, tmp_path / "store", size=2), 16), REPO)
    context = context_of(hub, tmp_path / "store")
    state = context.page_store.states(REPO)["pull_requests"]
    assert state.backfill_cursor
    context.page_store.save(replace(state, backfill_cursor="gone"))
    assert synced(context, tries=1) == clean(world, tmp_path / "clean")


def test_no_token_is_in_the_store_or_in_any_repr(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock(), Dice(dict.fromkeys(STILL, 0.03), 3))
    context = context_of(hub, tmp_path / "store")
    synced(context)
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    contents = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files]
    assert len(files) > 20
    assert not [secret for secret in SECRETS for content in contents if secret.encode() in content]
    assert not leaked(repr(context) + str(context.github.pool) + repr(vars(Token)))
    assert context.page_store.numbers(REPO, ISSUES) == {5, 10, 15}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["null-node", "null-list", "short", "cut-list", "no-repository", "proxy"])
@pytest.mark.parametrize("since", [None, week(3)])
def test_an_answer_with_something_missing_is_asked_for_again(
    small_repository: LocalRepository, tmp_path: Path, fault: str, since: Any
) -> None:
    """Every third answer; a short page went unnoticed with `since`, and a null node ended the whole rebuild."""
    hub = hub_of(world_of(small_repository), QuickClock(), Dice({GitHubFault(fault): 0.34}, 5))
    context = context_of(hub, tmp_path / "store")
    assert not sync_repository(context, REPO, since=since).failures
    assert hub.faults[fault] > 1
    other = context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "clean")
    assert not sync_repository(other, REPO, since=since).failures
    assert context.page_store.rows(REPO) == other.page_store.rows(REPO)


@pytest.mark.slow
def test_what_was_cut_off_at_every_reading_is_found_when_it_is_counted_again(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    """It looked like a GitHub that counts more than it lists, which nobody need look at again."""
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock(), Dice({GitHubFault.CUT_LIST: 1.0}))
    context = context_of(hub, tmp_path / "store")
    synced(context)
    assert "unlisted" in troubles(context)
    hub.dice = Dice()
    hub.clock.sleep(COUNT_EVERY.total_seconds())
    assert synced(context, tries=1) == clean(world, tmp_path / "clean")


def test_a_hole_that_stays_is_kept_and_the_rest_is_there(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock(), Dice({GitHubFault.NULL_NODE: 1.0}))
    context = context_of(hub, tmp_path / "store")
    assert not sync_repository(context, REPO).failures
    assert 10 <= len(context.page_store.rows(REPO).pulls) <= 12


def test_numbers_cut_short_delete_nothing(small_repository: LocalRepository, tmp_path: Path) -> None:
    world = world_of(small_repository)
    hub = hub_of(world, QuickClock())
    context = context_of(hub, tmp_path / "store")
    synced(context, tries=1)
    world.deleted[REPO] = {10}
    hub.clock.sleep(COUNT_EVERY.total_seconds())
    hub.dice = Dice({GitHubFault.CUT_LIST: 1.0})
    assert [issue.number for issue in synced(context, tries=1).issues] == [5, 10, 15]
    assert troubles(context) == []
