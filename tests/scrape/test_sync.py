"""Syncs against the local GitHub: complete, incremental, and equal to a clean one whatever goes wrong."""

from __future__ import annotations

import gzip
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from small_github import MANY_COMMITS, MANY_FILES, REPO, SECRETS, QuickClock, context_of, hub_of, week, world_of

from tasks.adapters.github.client import RequestRetries
from tasks.adapters.github.tokens import Token
from tasks.domain.collect import IssueLink
from tasks.domain.names import RepoName
from tasks.domain.scraping import RawPage, ScrapeFailure, ScrapeTrouble
from tasks.rehearsal.local_github.faults import Dice, GitHubFault
from tasks.rehearsal.local_github.hub import Hub
from tasks.rehearsal.local_github.world import LocalRepository, World
from tasks.scrape.fetching import SyncContext
from tasks.scrape.kinds import ISSUES, PULL_REQUESTS
from tasks.scrape.links import known_of, links_of
from tasks.scrape.pages import CollectedRows
from tasks.scrape.record import record
from tasks.scrape.sync import COUNT_EVERY, fetch_issues, sync_repository
from tasks.scrape.task import unknown_issues

ALL_FAULTS = tuple(GitHubFault)
STILL = tuple(fault for fault in GitHubFault if fault is not GitHubFault.MOVING)
"""Faults that change nothing in the repository."""


def synced(context: SyncContext, *, tries: int = 20) -> CollectedRows:
    """Syncs until nothing fails, as a schedule would; the rows."""
    for _ in range(tries):
        if not sync_repository(context, REPO).failures:
            return context.page_store.rows(REPO)
    raise AssertionError(f"not one of {tries} syncs came through")


def clean(world: World, root: Path) -> CollectedRows:
    return synced(context_of(hub_of(world, QuickClock()), root), tries=1)


@pytest.fixture
def context(small_repository: LocalRepository, tmp_path: Path) -> SyncContext:
    return context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "store")


def test_a_sync_brings_everything(context: SyncContext, small_repository: LocalRepository) -> None:
    rows = synced(context, tries=1)
    assert [pull.number for pull in rows.pulls] == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]
    assert [issue.number for issue in rows.issues] == [5, 10, 15]
    assert all(row.complete for row in (*rows.pulls, *rows.issues))
    assert [(row.repo, row.licence, row.default_branch) for row in rows.repositories] == [(REPO, "MIT", "main")]


def test_lists_longer_than_a_page_are_whole_and_in_order(
    context: SyncContext, small_repository: LocalRepository
) -> None:
    rows = synced(context, tries=1)
    pulls = {pull.number: pull for pull in rows.pulls}
    expected = tuple(commit.oid for commit in small_repository.pulls[11].commits)
    assert pulls[11].commit_ids == expected
    assert len(expected) == MANY_COMMITS
    assert len(pulls[13].paths) == MANY_FILES
    assert rows.issues[0].comment_texts == tuple(f"Comment {place}" for place in range(55))
    assert rows.issues[0].edit_texts == tuple(f"Version {place}" for place in range(24))
    assert rows.issues[0].rename_titles == tuple(f"Name {place}" for place in range(22))


def test_what_closed_an_issue_is_a_pull_request_or_a_commit(context: SyncContext) -> None:
    closers = synced(context, tries=1).issues[1].closers
    assert f"{REPO}#7" in closers
    assert any(closer.startswith(f"{REPO}@") for closer in closers)


def test_a_second_sync_asks_one_question_where_nothing_is_new(
    context: SyncContext, small_repository: LocalRepository
) -> None:
    rows = synced(context, tries=1)
    pages = len(context.page_store.store.read(RawPage, repo=REPO))
    context.github.sent.clear()
    assert synced(context, tries=1) == rows
    assert context.github.sent == {"repository": 1}
    assert len(context.page_store.store.read(RawPage, repo=REPO)) == pages


def test_what_was_updated_within_a_day_is_read_again(small_repository: LocalRepository, tmp_path: Path) -> None:
    """GitHub's index of updates may lag behind: something older may still appear."""
    clock = QuickClock(moment=week(14, hour=140))
    context = context_of(hub_of(world_of(small_repository), clock), tmp_path / "store")
    synced(context, tries=1)
    context.github.sent.clear()
    synced(context, tries=1)
    sent = [context.github.sent[kind] for kind in ("repository", "pull_requests", "issues")]
    assert sent == [1, 1, 1]


def test_a_month_later_only_new_pages_are_asked_for(small_repository: LocalRepository, tmp_path: Path) -> None:
    world = world_of(small_repository, until=week(8))
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store", size=2)
    assert max(pull.number for pull in synced(context, tries=1).pulls) == 7
    context.github.sent.clear()
    world.until = week(10)
    rows = synced(context, tries=1)
    assert max(pull.number for pull in rows.pulls) == 9
    assert context.github.sent["pull_requests"] == 2, "two new ones, and the page that reaches the watermark"
    assert rows == clean(world, tmp_path / "clean")


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


def test_since_reads_no_further_back_and_can_be_widened(small_repository: LocalRepository, tmp_path: Path) -> None:
    world = world_of(small_repository)
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store", size=2)
    assert not sync_repository(context, REPO, since=week(10)).failures
    some = context.page_store.numbers(REPO, PULL_REQUESTS)
    assert {11, 12, 13, 14} <= some
    assert 4 not in some
    assert not sync_repository(context, REPO, since=week(4)).failures
    assert 4 in context.page_store.numbers(REPO, PULL_REQUESTS)
    assert synced(context, tries=1) == clean(world, tmp_path / "clean")


def test_single_issues_can_be_fetched(small_repository: LocalRepository, tmp_path: Path) -> None:
    context = context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "store")
    failures = fetch_issues(context, REPO, (10, 11, 999)).failures
    assert [(failure.number, failure.trouble) for failure in failures] == [(999, ScrapeTrouble.GONE)]
    assert [issue.number for issue in context.page_store.rows(REPO).issues] == [10]


@pytest.mark.parametrize("status", [404, 451])
def test_a_repository_that_vanished_is_recorded(small_repository: LocalRepository, tmp_path: Path, status: int) -> None:
    world = world_of(small_repository)
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    held = synced(context, tries=1)
    world.vanished[REPO] = status
    report = sync_repository(context, REPO)
    assert [failure.trouble for failure in report.failures] == [ScrapeTrouble.GONE]
    assert context.github.sent["repository"] == 2, "asked once: it is permanent"
    assert context.page_store.rows(REPO) == held
    assert context.page_store.store.read(ScrapeFailure, repo=REPO) == report.failures


def test_an_unknown_repository_is_recorded(small_repository: LocalRepository, tmp_path: Path) -> None:
    context = context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "store")
    report = sync_repository(context, RepoName("small/other"))
    assert report.failures[0].trouble is ScrapeTrouble.GONE
    assert report.states == ()


def test_attempts_are_bounded_and_recorded(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock(), Dice({GitHubFault.BAD_GATEWAY: 1.0}))
    context = context_of(hub, tmp_path / "store", patience=RequestRetries(attempts=4))
    report = sync_repository(context, REPO)
    assert hub.asked.total() == 4
    assert report.failures[0].message == "repository of small project failed 4 times, lastly: HTTP 502"


def test_a_weekly_count_finds_what_was_lost(small_repository: LocalRepository, tmp_path: Path) -> None:
    """One pull request was merged long ago by its dates, yet appears only now: no refresh can see it."""
    world = world_of(small_repository)
    whole = world.repositories[REPO]
    world.repositories[REPO] = replace(whole, pulls={n: pull for n, pull in whole.pulls.items() if n != 4})
    clock = QuickClock()
    context = context_of(hub_of(world, clock), tmp_path / "store")
    synced(context, tries=1)
    world.repositories[REPO] = whole
    world.answers.clear()
    assert sync_repository(context, REPO).failures == (), "the count is not due"
    clock.sleep(COUNT_EVERY.total_seconds())
    assert synced(context, tries=1) == clean(world, tmp_path / "clean")
    assert troubles(context) == [ScrapeTrouble.LOST]


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


def test_rows_are_kept_once_however_often_a_page_comes(context: SyncContext) -> None:
    synced(context, tries=1)
    first = {(row.kind, row.number, row.cursor, row.page) for row in context.page_store.store.read(RawPage, repo=REPO)}
    synced(context, tries=1)
    rows = [asdict(row) for row in context.page_store.store.read(RawPage, repo=REPO)]
    again = [(row["kind"], row["number"], row["cursor"], row["page"]) for row in rows]
    assert len(again) == len(set(again))
    assert first <= set(again)


def troubles(context: SyncContext) -> list[ScrapeTrouble]:
    """What is noted of the syncs so far, in order."""
    rows = context.page_store.store.read(ScrapeFailure, repo=REPO)
    return [row.trouble for row in sorted(rows, key=lambda row: row.failed_at)]


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


def test_a_hole_that_stays_is_kept_and_the_rest_is_there(small_repository: LocalRepository, tmp_path: Path) -> None:
    hub = hub_of(world_of(small_repository), QuickClock(), Dice({GitHubFault.NULL_NODE: 1.0}))
    context = context_of(hub, tmp_path / "store")
    assert not sync_repository(context, REPO).failures
    assert 10 <= len(context.page_store.rows(REPO).pulls) <= 12


def test_what_github_counts_and_does_not_list_is_noted_once(small_repository: LocalRepository, tmp_path: Path) -> None:
    """Each weekly count began the backfill anew, for ever, and left the repository undone."""
    world = world_of(small_repository)
    world.unlisted[REPO] = 2
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    rows = synced(context, tries=1)
    assert [issue.number for issue in rows.issues] == [5, 10, 15]
    assert troubles(context) == [ScrapeTrouble.LOST, ScrapeTrouble.UNLISTED]
    context.github.clock.sleep(COUNT_EVERY.total_seconds())
    context.github.sent.clear()
    assert synced(context, tries=1) == rows
    assert context.github.sent == {"repository": 1}
    assert len(troubles(context)) == 2


def test_a_deleted_issue_is_left_out_of_the_rows(small_repository: LocalRepository, tmp_path: Path) -> None:
    world = world_of(small_repository)
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    assert len(synced(context, tries=1).issues) == 3
    world.deleted[REPO] = {10}
    context.github.clock.sleep(COUNT_EVERY.total_seconds())
    rows = synced(context, tries=1)
    assert rows.issues == clean(world, tmp_path / "clean").issues
    assert [issue.number for issue in rows.issues] == [5, 15]
    assert troubles(context) == [ScrapeTrouble.DELETED]
    world.deleted.clear()
    world.touch(world.repositories[REPO], 10, context.now())
    assert [issue.number for issue in synced(context, tries=1).issues] == [5, 10, 15], "it is back"


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


def test_a_renamed_repository_keeps_its_links(small_repository: LocalRepository, tmp_path: Path) -> None:
    """GitHub answers under the old name with the new one in it; every link was one into another repository."""
    world = world_of(small_repository)
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    synced(context, tries=1)
    store = context.page_store.store
    record(store, REPO, context.page_store.rows(REPO))
    before = store.read(IssueLink, repo=REPO)
    world.renamed[REPO] = "other/name"
    renamed = context_of(hub_of(world, QuickClock()), tmp_path / "renamed")
    record(renamed.page_store.store, REPO, synced(renamed, tries=1))
    assert any(link.usable for link in before)
    assert renamed.page_store.store.read(IssueLink, repo=REPO) == before
    assert renamed.page_store.rows(REPO).repositories[0].name_now == "other/name"


def test_numbers_that_are_no_issues_are_asked_for_once(small_repository: LocalRepository, tmp_path: Path) -> None:
    """22 of 25 requests of a second sync asked again for numbers that do not exist."""
    world = world_of(small_repository)
    world.deleted[REPO] = {10}
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    synced(context, tries=1)
    root, store = str(tmp_path / "store"), context.page_store.store
    record(store, REPO, context.page_store.rows(REPO))
    assert unknown_issues(root, REPO) == (10,)
    fetch_issues(context, REPO, (10,))
    record(store, REPO, context.page_store.rows(REPO))
    assert unknown_issues(root, REPO) == ()


def test_a_number_that_is_a_pull_request_is_linked_as_one(small_repository: LocalRepository, tmp_path: Path) -> None:
    """One that was never merged is on no page: asked for as an issue, it says what it is."""
    world = world_of(small_repository, until=week(5))
    context = context_of(hub_of(world, QuickClock()), tmp_path / "store")
    rows = synced(context, tries=1)
    world.until = None
    fetch_issues(context, REPO, (9,))
    assert context.page_store.rows(REPO).other_pulls == {9}
    record(context.page_store.store, REPO, context.page_store.rows(REPO))
    naming = replace(rows.pulls[0], body="Fixes #9")
    others = ((REPO, number) for number in context.page_store.rows(REPO).other_pulls)
    (link,) = (link for link in links_of(naming, known_of([naming], rows.issues, others)) if link.issue == 9)
    assert link.is_pull_request
    assert not link.usable
