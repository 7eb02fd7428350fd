"""The rolling rebuild: from pull requests to an immutable, validated snapshot.

    scrape ─► rows and links ─► mirror ─► filter ─► environments, golden and nop ─► validation ─► snapshot
                                              └─ a rejection for every rule that a pull request fails

Sharded by repository up to the filter; what a repository cannot give (it is gone, its mirror fails) stops that
repository only. Everything is in the store: the same rebuild again asks GitHub for what is new and runs nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from flows.run import StoryRun, Threads, begin, bind, line_of
from flows.settings import RESOURCES, Settings
from flows.validation import ValidationRequest, ValidationSummary, validate_inside
from tasks.adapters.github.client import API
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.latest import literal
from tasks.adapters.store.warehouse import Store
from tasks.domain.collect import Repository
from tasks.domain.names import InstanceId
from tasks.domain.undone import OfRepository, Undone
from tasks.evaluate.validation_plan import Repeats
from tasks.filter.rules import Limits
from tasks.filter.task import ToFilter, filter_pull_requests
from tasks.scrape.repositories import find_repository, read_repositories
from tasks.scrape.task import (
    MirrorSource,
    MissingIssues,
    ScrapeRequest,
    record_pages,
    scrape_issues,
    scrape_repository,
    unknown_issues,
    update_mirror,
)
from tasks.snapshot.manifest import Gate
from tasks.snapshot.task import (
    Draft,
    Order,
    Published,
    already_published,
    count_facts,
    draft_snapshot,
    publish_snapshot,
    published_before,
)
from tasks.validate.task import old_instances, to_validate

STORY = "rebuild"
POOL = "collected"
"""The snapshot of everything that passed the filter. It grows; what is published from it does not."""

REPOSITORIES = RESOURCES / "data" / "repositories.toml"
GIT = "https://github.com/{repo}.git"


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildRequest:
    """What to collect, and what to call it."""

    snapshot: str
    """Name of the snapshot to publish, `2026-11`."""
    repositories: tuple[str, ...] = ()
    """OWNER/NAME of those to collect from; empty for the whole list."""
    repositories_file: Path = REPOSITORIES
    since: datetime | None = None
    """Go no further back than pull requests updated at this moment."""
    limit: int | None = None
    """New instances to validate for each repository, the newest first; null for all of them."""
    limits: Limits = field(default_factory=Limits)
    repeats: Repeats = field(default_factory=Repeats)
    github: str = API
    git: str = GIT
    """Where mirrors are fetched from; `{repo}` is put in. Empty uses the mirrors as they are."""
    secret: str = ""
    """Name of a Prefect Secret with GitHub tokens; empty reads the environment of the worker."""
    trusted: bool = False

    @property
    def title(self) -> str:
        return f"{STORY} {self.snapshot}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildSummary:
    """What a rebuild came to."""

    published: Published
    validated: tuple[ValidationSummary, ...]
    """Of new instances, then of old ones; what there were none of is left out."""
    funnel: Sequence[dict[str, object]]
    """Rows of the view `funnel` over all repositories."""
    undone: tuple[Undone, ...]
    exit_code: int

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for all that is undone."""
        return tuple(map(line_of, self.undone))

    @property
    def text(self) -> str:
        made, changed = self.published.snapshot, self.published.changes
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(Counter(row.change for row in changed).items()))
        return "\n".join(
            [
                *(part.text for part in self.validated),
                f"snapshot {made.snapshot}: {made.instances} instances, content {made.content[:12]}",
                f"since {made.previous or 'nothing'}: {kinds or 'no difference'}",
            ]
        )


def month() -> str:
    """What this month's snapshot is called."""
    return f"{datetime.now(UTC):%Y-%m}"


def rebuild_here(request: RebuildRequest, settings: Settings) -> RebuildSummary:
    """Rebuild in this process, on threads, with no server."""
    board = Threads(settings.workers)
    return begin(STORY, request.title, Store(settings.store), board, lambda run: rebuild(request, settings, run))


def rebuild(request: RebuildRequest, settings: Settings, run: StoryRun) -> RebuildSummary:
    """The story. Under the name of a snapshot that is published, it collects and leaves the snapshot alone."""
    known = read_repositories(request.repositories_file)
    chosen = tuple(find_repository(known, name) for name in request.repositories) or known
    passed = _collect(request, settings, run, chosen)
    ensure_views(settings.store, settings.database, settings.sql)
    validated: tuple[ValidationSummary, ...] = ()
    published = already_published(settings.places, request.snapshot)
    if published is None:
        previous = published_before(settings.places, request.snapshot)
        validated = _validate(request, settings, run, passed, previous)
        count_facts(settings.places, POOL)
        order = Order(snapshot=request.snapshot, pool=POOL, previous=previous, counts=_counts(settings))
        published = publish(settings, order)
        ensure_views(settings.store, settings.database, settings.sql)
    return RebuildSummary(
        published=published,
        validated=validated,
        funnel=query(settings.database, "FROM funnel WHERE repo IS NULL ORDER BY step").to_pylist(),
        undone=run.undone(),
        exit_code=run.exit_code(),
    )


def _collect(
    request: RebuildRequest, settings: Settings, run: StoryRun, chosen: Sequence[Repository]
) -> list[InstanceId]:
    """The instances that pass the filter. A repository that a round could not do goes through the later ones as far as
    it is known: what was collected before is still there."""
    places = settings.places
    asked = [_scrape_request(request, repository) for repository in chosen]
    repositories = [OfRepository(repo=one.repo) for one in asked]
    run.round("scrape", bind(scrape_repository, settings.store), asked)
    run.round("rows", bind(record_pages, settings.store), repositories)
    missing = {one.repo: unknown_issues(settings.store, one.repo) for one in asked}
    older = [
        MissingIssues(repo=one.repo, since=one.since, url=one.url, secret=one.secret, numbers=missing[one.repo])
        for one in asked
        if missing[one.repo]
    ]
    run.round("issues", bind(scrape_issues, settings.store), older)
    run.round("rows of issues", bind(record_pages, settings.store), [OfRepository(repo=one.repo) for one in older])
    if request.git:
        sources = [MirrorSource(repo=one.repo, source=request.git.format(repo=one.repo)) for one in asked]
        run.round("mirrors", bind(update_mirror, places), sources)
    wanted = [ToFilter(repo=one.repo, repository=one, limits=request.limits, snapshot=POOL) for one in chosen]
    filtered = run.round("filter", bind(filter_pull_requests, places), wanted)
    return [name for done in filtered.results for name in done.instances]


def _scrape_request(request: RebuildRequest, repository: Repository) -> ScrapeRequest:
    return ScrapeRequest(repo=repository.repo, since=request.since, url=request.github, secret=request.secret)


def _validate(
    request: RebuildRequest, settings: Settings, run: StoryRun, passed: Sequence[InstanceId], previous: str
) -> tuple[ValidationSummary, ...]:
    """New instances from the ground up; those of the snapshot before by one more look, unless they are gone."""
    fresh = to_validate(settings.places, POOL, passed, request.limit)
    old = old_instances(settings.places, POOL, previous)
    repeats = replace(request.repeats, epoch=int(f"{datetime.now(UTC):%Y%m}"))
    return tuple(
        validate_inside(
            run,
            ValidationRequest(snapshot=POOL, instances=names, repeats=repeats, health=health, trusted=request.trusted),
            settings,
        )
        for names, health in ((fresh, False), (old, True))
        if names
    )


def publish(settings: Settings, order: Order) -> Published:
    """Publish what is valid, if the controls did on these very instances what they should."""
    draft = draft_snapshot(settings.places, order)
    return publish_snapshot(settings.places, draft, _gate_of(settings, draft))


def _gate_of(settings: Settings, draft: Draft) -> Gate:
    """What the controls did on the instances that would be published."""
    names = [literal(row.instance_id) for row in draft.rows]
    answer = query(
        settings.database,
        f"""SELECT count(*) FILTER (method = 'golden' AND solved) AS golden,
                   count(*) FILTER (method = 'nop' AND solved) AS nop
            FROM paper WHERE snapshot = {literal(draft.order.pool)} AND policy = 'tests-only'
                 AND list_contains([{", ".join(names)}]::VARCHAR[], instance_id)""",
    ).to_pylist()[0]
    return Gate(instances=len(names), golden_solved=answer["golden"], nop_solved=answer["nop"])


def _counts(settings: Settings) -> tuple[tuple[str, int], ...]:
    """How many rows the stages before have."""
    tables = ("pull_request", "issue", "issue_link", "pull_base", "rejection", "validation")
    sums = ", ".join(f"(SELECT count(*) FROM {name}) AS {name}" for name in tables)
    (row,) = query(settings.database, f"SELECT {sums}").to_pylist()
    return tuple(row.items())
