"""The rolling rebuild: from pull requests to an immutable, validated snapshot.

    reach ─► scrape ─► rows and links ─► mirror ─► filter ─► environments, golden and nop ─► validation ─► snapshot
                                                      └─ a rejection for every rule that a pull request fails

Before anything is collected, a token, GitHub and the mirrors' sources have to answer. Sharded by repository up to the
filter; what a repository cannot give stops that repository only. A month gets its name only where enough of it was
collected and judged; until then it is a draft that the same rebuild completes: everything is in the store, GitHub is
asked for what is new and nothing runs twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from flows.parameters import RebuildRequest, ValidationRequest
from flows.run import StoryRun, Threads, begin, bind, line_of, log
from flows.settings import Settings
from flows.validation import ValidationSummary, validate_inside
from tasks.adapters.store.database import ensure_views
from tasks.adapters.store.warehouse import Store
from tasks.domain.collect import Repository
from tasks.domain.names import InstanceId
from tasks.domain.undone import Left, OfRepository, OfSnapshot, Undone
from tasks.evaluate.validation_plan import Repeats
from tasks.filter.rules import RuleLimits
from tasks.filter.task import ToFilter, filter_pull_requests
from tasks.scrape.repositories import find_repository, read_repositories
from tasks.scrape.task import (
    MirrorSource,
    MissingIssues,
    Reach,
    ScrapeRequest,
    reach_repository,
    record_pages,
    scrape_issues,
    scrape_repository,
    unknown_issues,
    update_mirror,
)
from tasks.snapshot.gate import Coverage, answered, coverage
from tasks.snapshot.task import (
    Publication,
    PublicationOutcome,
    Published,
    already_published,
    count_facts,
    next_revision,
    publish,
    published_before,
    withdrawal_of,
)
from tasks.validate.task import old_instances, to_validate

STORY = "rebuild"
POOL = "collected"
"""The snapshot of everything that passed the filter. It grows; what is published from it does not."""
HELD_BACK = "held-back"
"""Slug of a month of which not enough was collected or judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSummary:
    """What a rebuild came to."""

    name: str
    published: Published | None
    remark: str
    """Why nothing was published, or that it was published before; empty otherwise."""
    validated: tuple[ValidationSummary, ...]
    """Of new instances, then of old ones; what there were none of is left out."""
    undone: tuple[Undone, ...]
    exit_code: int

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for all that is undone."""
        return tuple(map(line_of, self.undone))

    @property
    def text(self) -> str:
        parts = [*(part.text for part in self.validated), *([self.remark] if self.remark else [])]
        if self.published:
            made, changed = self.published.snapshot, self.published.changes
            counted = Counter(row.change for row in changed)
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counted.items()))
            parts.append(f"snapshot {made.snapshot}: {made.instances} instances, content {made.content[:12]}")
            parts.append(f"since {made.previous or 'nothing'}: {kinds or 'no difference'}")
        return "\n".join([*parts, f"{len(self.undone)} undone"])


def rebuild_here(request: RebuildRequest, settings: Settings, repeats: Repeats | None = None) -> RebuildSummary:
    """Rebuild in this process, on threads, with no server."""
    board, store = Threads(settings.workers), Store(settings.store)
    return begin(STORY, request.title, store, board, lambda run: rebuild(request, settings, run, repeats))


def rebuild(
    request: RebuildRequest, settings: Settings, run: StoryRun, repeats: Repeats | None = None
) -> RebuildSummary:
    """The story. Under the name of a snapshot that is published, it collects and leaves the snapshot alone."""
    known = read_repositories(request.repositories_file)
    chosen = tuple(find_repository(known, name) for name in request.repositories) or known
    reached = _reach(request, settings, run, chosen)
    passed = _collect(request, settings, run, reached)
    collected = answered([one.repo for one in chosen], run.undone(), request.collected)
    ensure_views(settings.store, settings.database, settings.sql)
    published = already_published(settings.places, request.name)
    validated: tuple[ValidationSummary, ...] = ()
    if published:
        issued = PublicationOutcome(published=published, remark=_remark(settings, request.name))
    elif reached:
        previous = published_before(settings.places, request.name)
        validated = _validate(request, settings, run, passed, previous, repeats or Repeats())
        issued = _publish(request, settings, run, collected, validated, previous)
    else:
        issued = _hold_back(run, request.name, [collected])
    ensure_views(settings.store, settings.database, settings.sql)
    return RebuildSummary(
        name=request.name,
        published=issued.published,
        remark=issued.remark,
        validated=validated,
        undone=run.undone(),
        exit_code=run.exit_code(nothing=not reached),
    )


def _reach(
    request: RebuildRequest, settings: Settings, run: StoryRun, chosen: Sequence[Repository]
) -> list[Repository]:
    """The repositories that answer. Asked before anything starts: a missing token is found in seconds, not hours."""
    units = [
        Reach(
            repo=one.repo,
            url=settings.github,
            secret=settings.github_secret,
            source=request.git.format(repo=one.repo) if request.git else "",
        )
        for one in chosen
    ]
    done = run.round("reach", bind(reach_repository, settings.places), units).by_subject
    return [one for one in chosen if one.repo in done]


def _collect(
    request: RebuildRequest, settings: Settings, run: StoryRun, chosen: Sequence[Repository]
) -> list[InstanceId]:
    """The instances that pass the filter. A repository that a round could not do goes through the later ones as far as
    it is known: what was collected before is still there."""
    places, store = settings.places, settings.store
    asked = [
        ScrapeRequest(repo=one.repo, since=request.since, url=settings.github, secret=settings.github_secret)
        for one in chosen
    ]
    run.round("scrape", bind(scrape_repository, store), asked)
    run.round("rows", bind(record_pages, store), [OfRepository(repo=one.repo) for one in asked])
    missing = {one.repo: unknown_issues(store, one.repo) for one in asked}
    older = [
        MissingIssues(repo=one.repo, since=one.since, url=one.url, secret=one.secret, numbers=missing[one.repo])
        for one in asked
        if missing[one.repo]
    ]
    run.round("issues", bind(scrape_issues, store), older)
    run.round("rows of issues", bind(record_pages, store), [OfRepository(repo=one.repo) for one in older])
    if request.git:
        sources = [MirrorSource(repo=one.repo, source=request.git.format(repo=one.repo)) for one in asked]
        run.round("mirrors", bind(update_mirror, places), sources)
    wanted = [ToFilter(repo=one.repo, repository=one, limits=RuleLimits(), snapshot=POOL) for one in chosen]
    filtered = run.round("filter", bind(filter_pull_requests, places), wanted)
    return [name for done in filtered.results for name in done.instances]


def _validate(
    request: RebuildRequest,
    settings: Settings,
    run: StoryRun,
    passed: Sequence[InstanceId],
    previous: str,
    repeats: Repeats,
) -> tuple[ValidationSummary, ...]:
    """New instances from the ground up; those of the snapshot before by one more look, unless they are gone."""
    fresh = to_validate(settings.places, POOL, passed, request.limit)
    old = old_instances(settings.places, POOL, previous)
    dated = replace(repeats, epoch=int(f"{datetime.now(UTC):%Y%m}"))
    return tuple(
        validate_inside(run, ValidationRequest(snapshot=POOL, instances=names, health=health), settings, dated)
        for names, health in ((fresh, False), (old, True))
        if names
    )


def _publish(
    request: RebuildRequest,
    settings: Settings,
    run: StoryRun,
    collected: Coverage,
    validated: Iterable[ValidationSummary],
    previous: str,
) -> PublicationOutcome:
    """The snapshot, where enough was collected and judged; else a row says what is missing of it."""
    names = [row.instance_id for part in validated for row in part.validations]
    short = [one for one in (collected, coverage("instances", names, run.undone(), request.judged)) if not one.enough]
    if short:
        return _hold_back(run, request.name, short)
    counted = run.round("facts", bind(count_facts, settings.places), [OfSnapshot(snapshot=POOL)]).results
    if not counted:  # what is published is left alone by later runs, so nothing may be missing of it
        return PublicationOutcome(published=None, remark=f"{request.name} is not published: its facts are not counted")
    unit = Publication(snapshot=request.name, pool=POOL, previous=previous, unchanged=request.unchanged)
    done = run.round("publish", bind(publish, settings.places, settings.database), [unit]).results
    return done[0] if done else PublicationOutcome(published=None, remark=f"{request.name} is not published, see below")


def _hold_back(run: StoryRun, name: str, short: Iterable[Coverage]) -> PublicationOutcome:
    said = "; ".join(map(str, short))
    run.leave("publish", "", [Left(subject=name, error=HELD_BACK, detail=said, may_pass=True)])
    return PublicationOutcome(published=None, remark=f"{name} is not published, and stays a draft: {said}")


def _remark(settings: Settings, name: str) -> str:
    withdrawn = withdrawal_of(settings.places, name)
    said = f"{name} was published before, and stays as it is"
    if withdrawn:
        said += f"; it is withdrawn: {withdrawn.reason}. Publish as {next_revision(settings.places, name)}"
    log.info("%s", said)
    return said
