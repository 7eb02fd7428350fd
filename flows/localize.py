"""Rank the files that each issue of a snapshot may be about, and measure recall against the golden patch.

    instances ─► BM25, or the agent with a model ─► rankings ─► recall

Rankings go into the store, and sweeps with the same retriever reuse them. Stored rankings are not repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flows.context import SearchModels, ranked_batches
from flows.engine.units import FlowRun, line_of, typed_partial
from flows.interface.requests import LocalizeRequest
from flows.interface.settings import Settings
from flows.sweep import open_router
from tasks.adapters.llm.limits.budget import Budget
from tasks.adapters.llm.router_factory import metered
from tasks.adapters.store.views.database import ensure_views
from tasks.adapters.tabular import text_table
from tasks.domain.localization import Locator
from tasks.domain.names import InstanceId
from tasks.domain.undone import Undone
from tasks.evaluate.task import choose_instances
from tasks.localize.settings import AgentSettings, Bm25Settings
from tasks.localize.task import AgentSearch, Localized, rank_batch, recall_of, search_with_agent

STORY = "localize"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizeSummary:
    """Result of a localization."""

    text: str
    """The recall as a table, and a line of counts."""
    undone: tuple[Undone, ...]
    exit_code: int
    """0 done, 1 something is incomplete, 3 nothing could be ranked."""

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each issue without a ranking, with the reason."""
        return tuple(map(line_of, self.undone))


def localize(request: LocalizeRequest, settings: Settings, run: FlowRun) -> LocalizeSummary:
    """The flow."""
    names = [row.instance_id for row in choose_instances(settings.places, request.snapshot, request.instances)]
    by_itself = request.method is Locator.BM25
    done = _ranked(request, settings, run, names) if by_itself else _searched(request, settings, run, names)
    ensure_views(settings.store, settings.database, settings.sql)
    recall = recall_of(
        settings.database,
        request.snapshot,
        request.method,
        request.retriever,
        model=request.model,
        with_tests=request.with_tests,
        top_n=Bm25Settings().k if by_itself else request.top_n,
    )
    undone = run.incomplete()
    left = len({row.subject for row in undone})
    made, reused, late = (sum(getattr(one, name) for one in done) for name in ("made", "reused", "timeouts"))
    facts = f"{made} made, {reused} reused, {late} timed out, {left} left to do"
    return LocalizeSummary(
        text=f"{text_table(recall)}\n{facts}",
        undone=undone,
        exit_code=run.exit_code(nothing=left == len(names)),
    )


def bm25_settings(request: LocalizeRequest) -> Bm25Settings:
    """Returns the settings of BM25."""
    return Bm25Settings(variant=request.retriever, with_tests=request.with_tests)


def agent_settings(request: LocalizeRequest) -> AgentSettings:
    """Returns the settings of the agent."""
    return AgentSettings(variant=request.retriever, with_tests=request.with_tests, top_n=request.top_n)


def _ranked(
    request: LocalizeRequest, settings: Settings, run: FlowRun, names: list[InstanceId]
) -> tuple[Localized, ...]:
    how = bm25_settings(request)
    units = ranked_batches(request.snapshot, names, how)
    return run.map_task("retrieval", typed_partial(rank_batch, settings.places), units).results


def _searched(
    request: LocalizeRequest, settings: Settings, run: FlowRun, names: Iterable[InstanceId]
) -> tuple[Localized, ...]:
    budget = Budget(calls=request.budget_calls, usd=request.budget_usd)
    router = open_router(settings, (request.model,), budget)
    router.recover()  # first: calls that a killed process may have paid for count against this budget
    how = agent_settings(request)
    units = [
        AgentSearch(snapshot=request.snapshot, instance_id=name, model=request.model, settings=how) for name in names
    ]
    try:
        with metered(run.store, settings.cache, request.payer, budget) as meter:
            function = typed_partial(search_with_agent, settings.places, SearchModels(router, meter, request.payer))
            return run.map_task("localization", function, units, at_once=settings.callers).results
    finally:
        router.close()
