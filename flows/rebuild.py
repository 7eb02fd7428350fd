"""The rolling rebuild: from pull requests to an immutable, validated snapshot.

    reach ─► scrape ─► rows and links ─► mirror ─► filter ─► environments, golden and nop ─► validation ─► snapshot
                                                      └─ a rejection for every rule that a pull request fails

Before anything is collected, the flow checks the token, GitHub and the sources of the mirrors. Up to the filter, each
repository is one unit, so a failure stops only that repository.

The month is published only if enough of it was collected and judged. Until then it is a draft, and the same rebuild
completes it. A resumed rebuild asks GitHub only for new data and repeats no run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flows.engine.units import FlowRun, line_of, log, typed_partial
from flows.evaluate import run_settings
from flows.interface.requests import ValidationRequest
from flows.interface.settings import RESOURCES, Settings
from flows.interface.snapshot_requests import RebuildRequest
from flows.snapshots import made_line
from flows.validate import ValidationSummary, validate_inside
from tasks.adapters.git.sources import source_of
from tasks.adapters.pruning import free_gb
from tasks.adapters.store.views.database import ensure_views
from tasks.adapters.text import counted
from tasks.domain.collect import Repository
from tasks.domain.errors import InfrastructureError
from tasks.domain.names import InstanceId
from tasks.domain.undone import OfRepository, OfSnapshot, PartialFailure, Undone
from tasks.domain.window import since_when
from tasks.evaluate.runs.validation_plan import Repeats
from tasks.evaluate.task import check_sandbox
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
from tasks.validate.schedule import power
from tasks.validate.task import choose, valid_now

STORY = "rebuild"
REPOSITORIES = RESOURCES / "data" / "repositories.toml"
POOL = "collected"
"""The snapshot of every instance that passed the filter. It grows; a snapshot published from it does not."""
AT_ONCE = 8
"""New instances per batch if the request limits the hours."""
RARE = 0.05
"""Failure rate of the flaky case whose detection probability the summary reports."""
HELD_BACK = "held-back"
"""Error slug of a month without enough collected or judged instances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSummary:
    """Result of a rebuild."""

    name: str
    published: Published | None
    remark: str
    """Why nothing was published, or that the snapshot was published before; else empty."""
    validated: tuple[ValidationSummary, ...]
    """Validations of old instances, then of new ones, until the hours are over. A group without instances has no
    entry."""
    told: str
    """How many old instances were re-checked and with what power, and how many new ones wait for the next month."""
    undone: tuple[Undone, ...]
    exit_code: int

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each incomplete unit."""
        return tuple(map(line_of, self.undone))

    @property
    def text(self) -> str:
        parts = [*(part.text for part in self.validated), *filter(None, (self.told, self.remark))]
        if self.published:
            made, changed = self.published.snapshot, self.published.changes
            counted = Counter(row.change for row in changed)
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counted.items()))
            parts.append(made_line(made))
            parts.append(f"since {made.previous or 'nothing'}: {kinds or 'no difference'}")
        return "\n".join([*parts, f"{len(self.undone)} undone"])


def rebuild(
    request: RebuildRequest, settings: Settings, run: FlowRun, repeats: Repeats | None = None
) -> RebuildSummary:
    """The flow. If the snapshot is already published, the flow still collects but does not change the snapshot."""
    begun = time.monotonic()
    _look_first(request, settings)
    known = read_repositories(request.repositories_file or REPOSITORIES)
    chosen = tuple(find_repository(known, name) for name in request.repositories) or known
    reached = _reach(settings, run, chosen)
    passed = _collect(request, settings, run, reached)
    collected = answered([one.repo for one in chosen], run.incomplete(), request.collected)
    published = already_published(settings.places, request.name)
    validated = Validated()
    if published:
        issued = PublicationOutcome(published=published, remark=_remark(settings, request.name))
    elif reached:
        previous = published_before(settings.places, request.name)
        validated = _validate(request, settings, run, passed, repeats or Repeats(), begun)
        issued = _publish(request, settings, run, collected, validated.parts, previous)
    else:
        issued = _hold_back(run, request.name, [collected])
    return RebuildSummary(
        name=request.name,
        published=issued.published,
        remark=issued.remark,
        validated=validated.parts,
        told=validated.told,
        undone=run.incomplete(),
        exit_code=run.exit_code(nothing=not reached),
    )


def _reach(settings: Settings, run: FlowRun, chosen: Sequence[Repository]) -> list[Repository]:
    """Returns the repositories that answer. Runs before anything else: a missing token is found in seconds, not
    hours."""
    units = [
        Reach(
            repo=one.repo,
            url=settings.github,
            secret=settings.github_secret,
            source=source_of(settings.git, one.repo) if settings.git else "",
        )
        for one in chosen
    ]
    done = run.map_task("reach", typed_partial(reach_repository, settings.places), units).by_subject
    return [one for one in chosen if one.repo in done]


def _collect(
    request: RebuildRequest, settings: Settings, run: FlowRun, chosen: Sequence[Repository]
) -> list[InstanceId]:
    """Returns the instances that pass the filter. If a task fails for a repository, later tasks still use what the
    store has of it."""
    places, store = settings.places, settings.store
    window = since_when(request.since, datetime.now(UTC))
    asked = [
        ScrapeRequest(repo=one.repo, since=window, url=settings.github, secret=settings.github_secret) for one in chosen
    ]
    run.map_task("scrape", typed_partial(scrape_repository, store), asked)
    run.map_task("rows", typed_partial(record_pages, store), [OfRepository(repo=one.repo) for one in asked])
    missing = {one.repo: unknown_issues(store, one.repo) for one in asked}
    older = [
        MissingIssues(repo=one.repo, since=one.since, url=one.url, secret=one.secret, numbers=missing[one.repo])
        for one in asked
        if missing[one.repo]
    ]
    run.map_task("issues", typed_partial(scrape_issues, store), older)
    run.map_task("rows of issues", typed_partial(record_pages, store), [OfRepository(repo=one.repo) for one in older])
    if settings.git:
        sources = [MirrorSource(repo=one.repo, source=source_of(settings.git, one.repo)) for one in asked]
        run.map_task("mirrors", typed_partial(update_mirror, places), sources)
    wanted = [ToFilter(repo=one.repo, repository=one, limits=RuleLimits(), snapshot=POOL) for one in chosen]
    filtered = run.map_task("filter", typed_partial(filter_pull_requests, places), wanted)
    return [name for done in filtered.results for name in done.instances]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """The validations of this month."""

    parts: tuple[ValidationSummary, ...] = ()
    told: str = ""


def _validate(
    request: RebuildRequest,
    settings: Settings,
    run: FlowRun,
    passed: Sequence[InstanceId],
    repeats: Repeats,
    begun: float,
) -> Validated:
    """Re-check the selected old instances. Then validate new ones in batches, as long as the hours last."""
    parts: list[ValidationSummary] = []
    kept = valid_now(settings.places, POOL)
    chosen = choose(settings.places, request.name, POOL, passed, limit=request.limit, looks=request.looks)
    old, fresh = chosen.old, chosen.new
    if old:
        again = ValidationRequest(snapshot=POOL, instances=old, health=True)
        parts.append(validate_inside(run, again, settings, repeats))
    size = (request.hours is None and len(fresh)) or AT_ONCE
    waiting = list(fresh)
    while waiting and (request.hours is None or time.monotonic() - begun < request.hours * 3600):
        batch, waiting = tuple(waiting[:size]), waiting[size:]
        parts.append(validate_inside(run, ValidationRequest(snapshot=POOL, instances=batch), settings, repeats))
    told = [told_of_looks(kept, len(old), request.looks, repeats.look)] if old else []
    if waiting:
        told.append(f"{counted(len(waiting), 'new instance')} left for another month: {request.hours:g} hours are over")
    return Validated(parts=tuple(parts), told="\n".join(told))


def told_of_looks(kept: int, looked: int, share: float, runs: int) -> str:
    """Returns a line: how many valid instances were re-checked, and how likely a rare flake shows within a year."""
    in_a_year = share * 12 * runs
    return (
        f"looked at {looked} of {kept} old instances again, {runs} runs each: a case that fails in one of "
        f"{round(1 / RARE)} runs shows within a year with {power(RARE, in_a_year):.0%}"
    )


def _look_first(request: RebuildRequest, settings: Settings) -> None:
    """Check the sandbox and the free disk space before hours of collecting. Takes a second."""
    check_sandbox(settings.places, run_settings(settings))
    for folder in (settings.places.cache, settings.places.scratch):
        free = free_gb(folder)
        if free < request.free_gb:
            raise InfrastructureError(
                f"{folder} has {free:.1f} GB free, and a rebuild begins with {request.free_gb:g}",
                hint="swt store prune --dry-run says what is not needed any more; --free-gb sets another bound",
            )


def _publish(
    request: RebuildRequest,
    settings: Settings,
    run: FlowRun,
    collected: Coverage,
    validated: Iterable[ValidationSummary],
    previous: str,
) -> PublicationOutcome:
    """Publish the snapshot if enough was collected and judged. Otherwise record what is missing."""
    names = [row.instance_id for part in validated for row in part.validations]
    short = [
        one for one in (collected, coverage("instances", names, run.incomplete(), request.judged)) if not one.enough
    ]
    if short:
        return _hold_back(run, request.name, short)
    counted = run.map_task("facts", typed_partial(count_facts, settings.places), [OfSnapshot(snapshot=POOL)]).results
    if not counted:  # later runs do not change a published snapshot, so it must be complete
        return PublicationOutcome(published=None, remark=f"{request.name} is not published: its facts are not counted")
    ensure_views(settings.store, settings.database, settings.sql)  # the publication gate queries the views
    unit = Publication(snapshot=request.name, pool=POOL, previous=previous, unchanged=request.unchanged)
    done = run.map_task("publish", typed_partial(publish, settings.places, settings.database), [unit]).results
    return done[0] if done else PublicationOutcome(published=None, remark=f"{request.name} is not published, see below")


def _hold_back(run: FlowRun, name: str, short: Iterable[Coverage]) -> PublicationOutcome:
    said = "; ".join(map(str, short))
    run.record_failures("publish", "", [PartialFailure(subject=name, error=HELD_BACK, detail=said, may_pass=True)])
    return PublicationOutcome(published=None, remark=f"{name} is not published, and stays a draft: {said}")


def _remark(settings: Settings, name: str) -> str:
    withdrawn = withdrawal_of(settings.places, name)
    said = f"{name} was published before, and stays as it is"
    if withdrawn:
        said += f"; it is withdrawn: {withdrawn.reason}. Publish as {next_revision(settings.places, name)}"
    log.info("%s", said)
    return said
