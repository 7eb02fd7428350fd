"""Localize: reports in batches of 10 to 50, rankings out. What is in the store is not made again.

Reads base commits from the mirrors; writes `localization_run`, `localization`, `localization_step`. A kill loses the
localization under way and nothing else: the row in `localization_run` is written last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.retrieval.search import Searcher
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import Value, query, selection
from tasks.domain.errors import SwtError
from tasks.domain.instance import TaskInstance
from tasks.domain.localization import (
    TOP_N,
    IssueReport,
    Localization,
    LocalizationRun,
    LocalizationStatus,
    RetrieverKind,
)
from tasks.domain.names import InstanceId, InstanceKey, RepoPath, content_key
from tasks.domain.places import Places
from tasks.domain.undone import OfInstance, PartialFailure
from tasks.localize.agent import investigate
from tasks.localize.bm25_method import retrieve
from tasks.localize.repository import open_commit
from tasks.localize.rows import Plan, Rows, agent_plan, bm25_plan, rows_of
from tasks.localize.settings import AgentSettings, Bm25Settings
from tasks.methods.redaction import find_pointers, redacted

ModelFor = Callable[[InstanceKey], Model]
"""The model for the work on one instance, metered and recorded as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Localized:
    """What one batch came to."""

    made: int
    reused: int
    """Found in the store."""
    timeouts: int
    """Of those made, the ones to be tried again."""
    left: tuple[PartialFailure, ...]
    """Reports that have no rows: their mirror or commit is missing, a budget is used up …"""
    localization_ids: tuple[str, ...]
    """Of the whole batch, in the order of the reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25Batch:
    """Instances of one snapshot, whose issues BM25 ranks the files for: 10 to 50, for they share one write."""

    snapshot: str
    instance_ids: tuple[InstanceId, ...]
    settings: Bm25Settings

    @property
    def subject(self) -> str:
        more = len(self.instance_ids) - 1
        return f"{self.instance_ids[0]} and {more} more" if more else self.instance_ids[0]

    @property
    def subjects(self) -> tuple[str, ...]:
        return self.instance_ids

    @property
    def scope(self) -> str:
        return f"{self.snapshot} {self.settings.variant}{' with tests' if self.settings.with_tests else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSearch(OfInstance):
    """One instance, whose issue the agent looks for with a model."""

    model: str
    settings: AgentSettings

    @property
    def scope(self) -> str:
        shown = " with tests" if self.settings.with_tests else ""
        asked = f" top {self.settings.top_n}" if self.settings.top_n != TOP_N else ""
        return f"{self.snapshot} {self.model} {self.settings.variant}{shown}{asked}"


def rank_batch(places: Places, unit: Bm25Batch) -> Localized:
    """Rank the files for each issue, as it was written. The result's lists are in the order of the unit's."""
    rows = _instances(places, unit.snapshot, unit.instance_ids)
    names = {row.instance_key: row.instance_id for row in rows}
    done = localize_with_bm25(places, unit.settings, tuple(map(IssueReport.of_instance, rows)))
    return replace(done, left=tuple(replace(one, subject=names[InstanceKey(one.subject)]) for one in done.left))


def search_with_agent(
    places: Places, models: Callable[[AgentSearch, InstanceKey], Model], unit: AgentSearch
) -> Localized:
    """Let the agent locate the bug of one issue. It reads the issue as methods do, without pointers to the fix."""
    report = _shown(places, unit)
    done = localize_with_agent(places, unit.settings, (report,), unit.model, partial(models, unit))
    late = ProviderFailed("no reply in time", kind="timeout")
    timeouts = [PartialFailure.by(unit.subject, late)] if done.timeouts else []
    return replace(done, left=(*(replace(one, subject=unit.subject) for one in done.left), *timeouts))


def found_before(places: Places, unit: AgentSearch) -> tuple[RepoPath, ...] | None:
    """What the agent finds, best first, where it is in the store; null where it is still to be asked."""
    store, key = Store(places.store), agent_plan(_shown(places, unit), unit.settings, unit.model).localization_id
    if not _settled(store, (key,)):
        return None
    rows = store.read(Localization, localization_id=key)
    return tuple(row.path for row in sorted(rows, key=lambda row: row.rank))


def _shown(places: Places, unit: AgentSearch) -> IssueReport:
    """The issue as the agent reads it."""
    (instance,) = _instances(places, unit.snapshot, (unit.instance_id,))
    pointers = find_pointers(instance, CommitHistory(Mirrors(places.mirrors), instance.repo, instance.base_commit))
    return replace(IssueReport.of_instance(instance), statement=redacted(instance.problem_statement, pointers))


def _instances(places: Places, snapshot: str, names: tuple[InstanceId, ...]) -> list[TaskInstance]:
    found = {
        row.instance_id: row for row in Store(places.store).read(TaskInstance, snapshot=snapshot, instance_id=names)
    }
    return [found[name] for name in names]


def localize_with_bm25(places: Places, settings: Bm25Settings, reports: tuple[IssueReport, ...]) -> Localized:
    """Rank the files of each report's commit."""
    searcher = _searcher(places)

    def make(plan: Plan) -> Rows:
        started = datetime.now(UTC)
        report = plan.report
        index = searcher.index(report.repo, report.base_commit, settings.variant, with_tests=settings.with_tests)
        finding = retrieve(report, index, settings)
        tokens = dict(zip(index.paths, index.tokens, strict=True))
        return rows_of(plan, finding, tokens, started, datetime.now(UTC))

    return _localize(places, [bm25_plan(report, settings) for report in reports], make, together=True)


def localize_with_agent(
    places: Places, settings: AgentSettings, reports: tuple[IssueReport, ...], model: str, model_for: ModelFor
) -> Localized:
    """Let the agent locate the bug of each report. Errors of the provider other than a timeout pass through."""
    searcher = _searcher(places)

    def make(plan: Plan) -> Rows:
        started = datetime.now(UTC)
        report = plan.report
        repository = open_commit(searcher, report, settings.variant, with_tests=settings.with_tests)
        finding = investigate(report, repository, model_for(report.instance_key), settings)
        return rows_of(plan, finding, repository.paths, started, datetime.now(UTC))

    return _localize(places, [agent_plan(report, settings, model) for report in reports], make, together=False)


def _searcher(places: Places) -> Searcher:
    return Searcher(Mirrors(places.mirrors), places.retrieval)


def _localize(places: Places, plans: Sequence[Plan], make: Callable[[Plan], Rows], *, together: bool) -> Localized:
    """Make and store what is missing, each plan once; `together` in one write, else one by one.

    A failure does not keep the other reports from being localized.
    """
    store = Store(places.store)
    ids = tuple(plan.localization_id for plan in plans)
    done = _settled(store, ids)
    missing = {plan.localization_id: plan for plan in plans if plan.localization_id not in done}
    made: list[Rows] = []
    failed: list[tuple[Plan, SwtError]] = []
    for plan in missing.values():
        try:
            made.append(make(plan))
        except SwtError as error:
            failed.append((plan, error))
        else:
            _write(store, [] if together else made[-1:])
    _write(store, made if together else [])
    return Localized(
        made=len(made),
        reused=len(ids) - len(missing),
        timeouts=sum(rows.run.status is LocalizationStatus.TIMEOUT for rows in made),
        left=tuple(
            PartialFailure.by(plan.report.instance_key, problem, tried_again=not together) for plan, problem in failed
        ),
        localization_ids=ids,
    )


def _settled(store: Store, ids: tuple[str, ...]) -> set[str]:
    """The ids that need no further attempt: a timeout is nobody's result."""
    known = store.read(LocalizationRun, localization_id=ids)
    return {row.localization_id for row in known if row.status is not LocalizationStatus.TIMEOUT}


def _write(store: Store, several: Sequence[Rows]) -> None:
    """Write the runs last: a run's row means that the others are there. A repeated write replaces the first."""
    key = content_key("localizations", [rows.run.localization_id for rows in several])
    store.write([row for rows in several for row in rows.ranking], key=key)
    store.write([row for rows in several for row in rows.steps], key=key)
    store.write([rows.run for rows in several], key=key)


RECALL = (
    *("method", "model", "n", "unmeasured", "any_1", "any_5", "any_10", "any_30"),
    *("recall_1", "recall_5", "recall_10", "recall_30", "mrr"),
)


def recall_of(
    database: Path, snapshot: str, method: str, variant: RetrieverKind, *, model: str, with_tests: bool, top_n: int
) -> pa.Table:
    """How often is all that was ever localized of a snapshot in one way right? A row, or none."""
    wanted: dict[str, list[Value]] = {
        "snapshot": [snapshot],
        "method": [method],
        "model": [model or None],
        "with_tests": [with_tests],
        "top_n": [top_n],
    }
    return query(database, selection("localization_accuracy_by", wanted, arguments=(variant.value,))).select(RECALL)
