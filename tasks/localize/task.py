"""Localize: reports in batches of 10 to 50, rankings out. What is in the store is not made again.

Reads base commits from the mirrors; writes `localization_run`, `localization`, `localization_step`. A kill loses the
localization under way and nothing else: the row in `localization_run` is written last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.base import Model
from tasks.adapters.retrieval.search import Searcher
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import SwtError
from tasks.domain.localization import LocalizationRun, LocalizationStatus, Report
from tasks.domain.names import InstanceKey, content_key
from tasks.domain.places import Places
from tasks.localize.agent import investigate
from tasks.localize.bm25 import retrieve
from tasks.localize.repository import open_commit
from tasks.localize.rows import Plan, Rows, agent_plan, bm25_plan, rows_of
from tasks.localize.settings import AgentSettings, Bm25Settings

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
    problems: tuple[str, ...]
    """One line for each report that has no rows: its mirror or commit is missing, a budget is used up …"""
    localization_ids: tuple[str, ...]
    """Of the whole batch, in the order of the reports."""


def localize_with_bm25(places: Places, settings: Bm25Settings, reports: tuple[Report, ...]) -> Localized:
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
    places: Places, settings: AgentSettings, reports: tuple[Report, ...], model: str, model_for: ModelFor
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

    A failure does not keep the other reports from being localized. One that may pass is raised in the end.
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
    for _, problem in failed:
        if problem.retry:
            raise problem
    return Localized(
        made=len(made),
        reused=len(ids) - len(missing),
        timeouts=sum(rows.run.status is LocalizationStatus.TIMEOUT for rows in made),
        problems=tuple(f"{plan.report.repo} {plan.report.instance_key}: {problem}" for plan, problem in failed),
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
