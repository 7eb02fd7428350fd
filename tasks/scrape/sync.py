"""Brings what GitHub knows of a repository into the store, and later only what is new.

1. The watermark is the latest `updatedAt` at the very start, noted before the backfill: what changes while the backfill
   runs is newer, and the first refresh finds it.
2. The backfill is a cursor that is saved with every page: from the first number on (`CREATED_AT ASC`), or with `since`
   from the latest update back to that date (`UPDATED_AT DESC`).
3. A refresh reads `UPDATED_AT DESC` until a day before the watermark. The new watermark is the first page's first
   `updatedAt`, saved only when every page is kept. What moves to the front meanwhile is newer still: the next one's.
4. Once a week GitHub's count is held against ours. Where it is higher, the backfill starts anew; where that changes
   nothing, GitHub counts more than it lists, which is noted and expected from then on. Where it is lower, all numbers
   are asked for, and those that are not among them are left out of the rows.
5. A page that ends a walk before GitHub's count is reached is read again, and then taken for what it is.

Where nothing was updated for a day when it was last read, and nothing since, one question tells so.

A kill at any moment loses at most the pages of the refresh under way, which are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tasks.adapters.github.failures import GitHubFailed, GitHubGone, StaleCursor
from tasks.domain.names import RepoName
from tasks.domain.scraping import RawPage, ScrapeFailure, ScrapeTrouble, SyncState
from tasks.domain.undone import PartialFailure
from tasks.scrape.fetching import FetchedPage, SyncContext, Walk, keep_page, owner_and_name
from tasks.scrape.kinds import ISSUE_BY_NUMBER, KINDS, REPOSITORY, PageKind
from tasks.scrape.page_store import moment

OVERLAP = timedelta(hours=24)
"""GitHub's index of updates may lag behind."""
COUNT_EVERY = timedelta(days=7)
READINGS_OF_AN_END = 3
"""How often a page is read that ends a walk too early: GitHub counts more."""
_NEWEST_FIRST = Walk(field="UPDATED_AT", direction="DESC")


@dataclass(frozen=True, slots=True)
class _Glance:
    """What GitHub says of one kind as a whole."""

    total: int
    newest: datetime | None
    """Latest update; null where there is none of the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What one sync of one repository did."""

    repo: RepoName
    states: tuple[SyncState, ...]
    failures: tuple[ScrapeFailure, ...]
    """Empty where everything is up to date."""

    @property
    def left(self) -> tuple[PartialFailure, ...]:
        """These failures, as what is undone of the sync."""
        return tuple(_left(failure) for failure in self.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuesReport:
    """What fetching single issues did."""

    repo: RepoName
    failures: tuple[ScrapeFailure, ...]

    @property
    def left(self) -> tuple[PartialFailure, ...]:
        """An issue that is not there will not be there next time either, and nothing is left to do about it."""
        return tuple(_left(failure) for failure in self.failures if failure.trouble is not ScrapeTrouble.GONE)


def _left(failure: ScrapeFailure) -> PartialFailure:
    gone = failure.trouble is ScrapeTrouble.GONE
    slug = GitHubGone.slug if gone else GitHubFailed.slug
    detail = f"{failure.kind}: {failure.message}"
    return PartialFailure(subject=failure.repo, error=slug, detail=detail, may_pass=not gone)


def sync_repository(context: SyncContext, repo: RepoName, *, since: datetime | None = None) -> SyncReport:
    """Backfill what is missing and refresh what changed; what cannot be had is recorded. `NoTokenAccepted` ends it."""
    states: list[SyncState] = []
    failures: list[ScrapeFailure] = []
    seen: dict[str, _Glance] = {}
    _guarded(context, repo, "repository", lambda: seen.update(_describe(context, repo)), failures)
    held = context.page_store.states(repo) if seen else {}
    for kind in KINDS if seen else ():
        work = _work(context, repo, kind, held.get(kind.name), since, seen[kind.name])
        _guarded(context, repo, kind.name, lambda work=work: states.append(work()), failures)  # type: ignore[misc]
    return SyncReport(repo=repo, states=tuple(states), failures=tuple(failures))


def fetch_issues(context: SyncContext, repo: RepoName, wanted: tuple[int, ...]) -> IssuesReport:
    """Fetch single issues that no page held, such as old ones that a new pull request fixes; what could not be had."""
    failures: list[ScrapeFailure] = []
    for number in wanted:
        _guarded(context, repo, ISSUE_BY_NUMBER, lambda number=number: _one(context, repo, number), failures, number)  # type: ignore[misc]
    return IssuesReport(repo=repo, failures=tuple(failures))


def _guarded(
    context: SyncContext,
    repo: RepoName,
    kind: str,
    work: Callable[[], object],
    failures: list[ScrapeFailure],
    number: int | None = None,
) -> None:
    """Do it; what GitHub does not give is recorded and does not stop what comes next."""
    try:
        work()
    except (GitHubGone, GitHubFailed, StaleCursor) as error:
        trouble = ScrapeTrouble.GONE if isinstance(error, GitHubGone) else ScrapeTrouble.FAILED
        failures.append(_record(context, repo, kind, trouble, str(error), number))


def _record(
    context: SyncContext, repo: RepoName, kind: str, trouble: ScrapeTrouble, message: str, number: int | None = None
) -> ScrapeFailure:
    failure = ScrapeFailure(
        repo=repo, kind=kind, number=number, trouble=trouble, message=message, failed_at=context.now()
    )
    context.page_store.fail(failure)
    return failure


def _describe(context: SyncContext, repo: RepoName) -> dict[str, _Glance]:
    """Keep the page about the repository itself; GitHub's counts and latest updates by kind."""
    data = context.github.ask(REPOSITORY, owner_and_name(repo))
    context.page_store.keep(data, [], repo=repo, kind=REPOSITORY, fetched_at=context.now())
    return {kind.name: _glance(data["repository"][kind.connection]) for kind in KINDS}


def _glance(connection: Mapping[str, Any] | None) -> _Glance:
    """A repository whose issues are turned off has none."""
    found = connection or {}
    updated = [moment(node["updatedAt"]) for node in found.get("nodes") or [] if node]
    return _Glance(found.get("totalCount", 0), max(updated, default=None))


def _one(context: SyncContext, repo: RepoName, number: int) -> RawPage:
    data = context.github.ask(ISSUE_BY_NUMBER, {**owner_and_name(repo), "number": number})
    return context.page_store.keep(data, [], repo=repo, kind=ISSUE_BY_NUMBER, number=number, fetched_at=context.now())


def _work(
    context: SyncContext,
    repo: RepoName,
    kind: PageKind,
    held: SyncState | None,
    since: datetime | None,
    seen: _Glance,
) -> Callable[[], SyncState]:
    """Everything for one kind, as something to be guarded."""

    def work() -> SyncState:
        begun = held if held and held.watermark else _begun(context, repo, kind, since)
        state = _widened(begun, since)
        if not (state is held and _is_quiet(held, seen)):
            state = _refreshed(context, kind, _backfilled(context, kind, state))
        return _counted(context, kind, state, seen.total) if _count_is_due(state, context.now()) else state

    return work


def _is_quiet(held: SyncState, seen: _Glance) -> bool:
    """Nothing is newer than what was read a day after it was updated, when GitHub's index had long known it."""
    mark = held.watermark
    late = mark is not None and held.synced_at - mark >= OVERLAP
    return held.backfill_done and late and (seen.newest is None or (mark is not None and seen.newest <= mark))


def _begun(context: SyncContext, repo: RepoName, kind: PageKind, since: datetime | None) -> SyncState:
    """The state of a new repository, with the watermark from before the backfill."""
    newest = keep_page(context, repo, kind, _NEWEST_FIRST, None).row.newest
    state = SyncState(
        repo=repo,
        kind=kind.name,
        watermark=newest,
        backfill_cursor=None,
        backfill_since=since,
        backfill_done=newest is None,
        counted_at=None,
        counted=None,
        total=None,
        synced_at=context.now(),
        asked_since=since,
    )
    context.page_store.save(state)
    return state


def _widened(state: SyncState, since: datetime | None) -> SyncState:
    """The backfill goes on where an earlier date is asked for than was before."""
    if state.window is not None and (since is None or since < state.window):
        state = replace(state, asked_since=since)
    if state.backfill_since is None or (since is not None and since >= state.backfill_since):
        return state
    cursor = None if since is None else state.backfill_cursor
    return replace(state, backfill_since=since, backfill_cursor=cursor, backfill_done=False)


def _backfilled(context: SyncContext, kind: PageKind, state: SyncState) -> SyncState:
    readings = 1
    while not state.backfill_done:
        since = state.backfill_since
        walk = Walk(field="CREATED_AT", direction="ASC") if since is None else _NEWEST_FIRST
        try:
            page = keep_page(context, state.repo, kind, walk, state.backfill_cursor)
        except StaleCursor:
            state = replace(state, backfill_cursor=None)
            continue
        ended = not page.more and not _is_before(page, since)
        whole = ended and len(context.page_store.numbers(state.repo, kind)) >= page.total - state.unlisted
        if ended and not whole and readings < READINGS_OF_AN_END:
            readings += 1
            continue
        state = replace(
            state,
            backfill_cursor=page.end or state.backfill_cursor,
            backfill_since=None if whole else since,
            backfill_done=not page.more or _is_before(page, since),
            synced_at=context.now(),
        )
        context.page_store.save(state)
    return state


def _refreshed(context: SyncContext, kind: PageKind, state: SyncState) -> SyncState:
    """Everything since the watermark; the state with the new one."""
    if state.watermark is None:
        return state
    floor = state.watermark - OVERLAP
    for _ in range(READINGS_OF_AN_END):
        newest, short = _refresh(context, kind, state, floor)
        if not short:
            break
    else:
        _record(context, state.repo, kind.name, ScrapeTrouble.UNLISTED, f"{short}, {READINGS_OF_AN_END} times in a row")
    watermark = max(newest, state.watermark) if newest else state.watermark
    state = replace(state, watermark=watermark, synced_at=context.now())
    context.page_store.save(state)
    return state


def _refresh(context: SyncContext, kind: PageKind, state: SyncState, floor: datetime) -> tuple[datetime | None, str]:
    """One walk back to `floor`: the latest update in it, and what to say where it ended before it should have."""
    walk = replace(_NEWEST_FIRST, since=floor)
    page = keep_page(context, state.repo, kind, walk, None)
    newest, found = page.row.newest, set(page.numbers)
    while page.more and not _is_before(page, floor):
        page = keep_page(context, state.repo, kind, walk, page.end)
        found |= page.numbers
    if _is_before(page, floor):
        return newest, ""
    listed = found if kind.filters_by_date else context.page_store.numbers(state.repo, kind)
    missing = page.total - state.unlisted - len(listed)
    return newest, f"{kind.name} of {state.repo}: GitHub counts {missing} more than it lists" if missing > 0 else ""


def _is_before(page: FetchedPage, moment: datetime | None) -> bool:
    return moment is not None and page.row.oldest is not None and page.row.oldest < moment


def _count_is_due(state: SyncState, now: datetime) -> bool:
    """Counts compare only where we hold everything."""
    whole = state.backfill_since is None and state.backfill_done
    return whole and (state.counted_at is None or now - state.counted_at >= COUNT_EVERY)


def _counted(context: SyncContext, kind: PageKind, state: SyncState, total: int) -> SyncState:
    """The state with both counts, which are put right where they differ as far as that can be done."""
    what, repo = f"{kind.name} of {state.repo}", state.repo
    held = len(context.page_store.numbers(repo, kind))
    expected = total - state.unlisted
    if held < expected or (held == expected < total and _lists_others(context, kind, repo)):
        _record(context, repo, kind.name, ScrapeTrouble.LOST, f"{what}: GitHub counts {total}, we held {held}")
        state = replace(state, backfill_cursor=None, backfill_done=False)
        context.page_store.save(state)
        state = _backfilled(context, kind, state)
        held = len(context.page_store.numbers(repo, kind))
        if held < total:
            message = f"{what}: GitHub counts {total} and lists {held}"
            _record(context, repo, kind.name, ScrapeTrouble.UNLISTED, message)
    elif held > expected:
        held -= _drop_deleted(context, kind, repo, expected)
    state = replace(state, counted_at=context.now(), counted=held, total=total)
    context.page_store.save(state)
    return state


def _lists_others(context: SyncContext, kind: PageKind, repo: RepoName) -> bool:
    """Whether GitHub lists what we do not hold: a list that was cut at each reading had looked like a wrong count."""
    return bool(_listed(context, kind, repo) - context.page_store.numbers(repo, kind))


def _drop_deleted(context: SyncContext, kind: PageKind, repo: RepoName, expected: int) -> int:
    """Note what GitHub lists no longer; how many. A list that is shorter than its count says nothing of the rest."""
    listed = _listed(context, kind, repo)
    gone = context.page_store.numbers(repo, kind) - listed if len(listed) >= expected else frozenset()
    for number in sorted(gone):
        message = f"{kind.name} of {repo}: GitHub lists {number} no longer"
        _record(context, repo, kind.name, ScrapeTrouble.DELETED, message, number)
    return len(gone)


def _listed(context: SyncContext, kind: PageKind, repo: RepoName) -> set[int]:
    """The numbers that GitHub lists now, a hundred for a request."""
    listed: set[int] = set()
    after, more = None, True
    while more:
        data = context.github.ask(kind.numbers, {**owner_and_name(repo), "after": after})
        connection = data["repository"][kind.connection]
        listed |= {node["number"] for node in connection["nodes"] if node}
        after, more = connection["pageInfo"]["endCursor"], connection["pageInfo"]["hasNextPage"]
    return listed
