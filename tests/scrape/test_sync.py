"""Syncs against the local GitHub: complete, incremental, and equal to a clean one whatever changes meanwhile."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest
from small_github import MANY_COMMITS, MANY_FILES, REPO, clean, context_of, hub_of, synced, troubles, week, world_of

from tasks.domain.collect import IssueLink
from tasks.domain.names import RepoName
from tasks.domain.scraping import RawPage, ScrapeFailure, ScrapeTrouble
from tasks.scrape.fetching import SyncContext
from tasks.scrape.kinds import PULL_REQUESTS
from tasks.scrape.links import known_of, links_of
from tasks.scrape.sync import COUNT_EVERY, fetch_issues, sync_repository
from tasks.scrape.task import record, unknown_issues
from tests.fakes.local_github.world import LocalRepository
from tests.fakes.quick_clock import QuickClock


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


def test_the_window_is_the_earliest_that_was_asked_for_even_where_all_came(
    small_repository: LocalRepository, tmp_path: Path
) -> None:
    context = context_of(hub_of(world_of(small_repository), QuickClock()), tmp_path / "store", size=50)

    def asked(since: datetime | None) -> datetime | None:
        assert not sync_repository(context, REPO, since=since).failures
        return context.page_store.states(REPO)[PULL_REQUESTS.name].window

    assert asked(week(10)) == week(10)
    assert 4 in context.page_store.numbers(REPO, PULL_REQUESTS), "the page holds older ones too"
    assert asked(week(12)) == week(10), "what is in the pool stays in it"
    assert asked(week(4)) == week(4)
    assert asked(None) is None
    assert asked(week(10)) is None


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


def test_rows_are_kept_once_however_often_a_page_comes(context: SyncContext) -> None:
    synced(context, tries=1)
    first = {(row.kind, row.number, row.cursor, row.page) for row in context.page_store.store.read(RawPage, repo=REPO)}
    synced(context, tries=1)
    rows = [asdict(row) for row in context.page_store.store.read(RawPage, repo=REPO)]
    again = [(row["kind"], row["number"], row["cursor"], row["page"]) for row in rows]
    assert len(again) == len(set(again))
    assert first <= set(again)


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
    assert context.github.sent == {"repository": 1, "issue_numbers": 1}, "only whether the list has them now"
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
