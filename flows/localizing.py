"""Localization by itself: which files does each issue of a snapshot speak of, and how often is that right?

    instances ─► BM25, or the agent with a model ─► rankings ─► recall

Rankings go into the store, where sweeps with the same retriever find them. What is there is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from flows.asking import text_table
from flows.fan_out import Failed, Threads, Unit
from flows.settings import Settings
from flows.sweep import check_models
from tasks.adapters.git.history import CommitHistory
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.budget import Budget, Meter
from tasks.adapters.llm.switchboard import Switchboard
from tasks.adapters.llm.wiring import open_switchboard, spent_by
from tasks.adapters.retrieval.variants import Variant
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.latest import literal
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import UsageError
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import Work
from tasks.domain.localization import Report
from tasks.domain.names import InstanceKey, content_key
from tasks.evaluate.task import choose_instances
from tasks.localize.rows import AGENT, BM25
from tasks.localize.settings import AgentSettings, Bm25Settings
from tasks.localize.task import Localized, localize_with_agent, localize_with_bm25
from tasks.methods.redaction import find_pointers, redacted

BATCH = 25
"""Reports that one unit of BM25 ranks."""
NAME = "localize"
"""Method that the agent's model calls are counted under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizeRequest:
    """One way of localization on instances of a snapshot."""

    snapshot: str
    method: str = BM25
    """`bm25` or `agent`."""
    retriever: Variant = Variant.CODE
    model: str = ""
    """For the agent, and only for it."""
    instances: tuple[str, ...] = ()
    """Instance ids; empty for the whole snapshot."""
    with_tests: bool = False
    """Rank test files as well."""
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.method not in (BM25, AGENT):
            raise UsageError(f"there is no localization {self.method!r}", hint=f"there are {BM25} and {AGENT}")
        if bool(self.model) != (self.method == AGENT):
            raise UsageError(f"{AGENT} needs a model, {BM25} has none", hint=f"--method {AGENT} --model NAME")

    @property
    def payer(self) -> str:
        """Who pays for the agent's calls: requests for the same work share a budget."""
        return f"{NAME}-{content_key(NAME, self.snapshot, self.model, self.retriever.value, self.with_tests)[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizeSummary:
    """What a request came to."""

    text: str
    """The recall as a table, and a line on what was done."""
    problems: tuple[str, ...]
    exit_code: int
    """0 done, 1 something is left, 3 nothing could be ranked."""


def localize_here(request: LocalizeRequest, settings: Settings, environ: Mapping[str, str]) -> LocalizeSummary:
    """Localize in this process, on threads."""
    instances = choose_instances(settings.places, request.snapshot, request.instances)
    by_itself = request.method == BM25
    done = _ranked(request, settings, instances) if by_itself else _investigated(request, settings, instances, environ)
    problems = tuple(line for result in done for line in _problems(result))
    left = len(instances) - sum(_finished(result) for result in done)
    return LocalizeSummary(
        text=f"{_recall(request, settings)}\n{_said(done)}, {left} left to do",
        problems=problems,
        exit_code=0 if not left else 3 if left == len(instances) else 1,
    )


def _ranked(
    request: LocalizeRequest, settings: Settings, instances: Sequence[TaskInstance]
) -> list[Localized | Failed]:
    how = Bm25Settings(variant=request.retriever, with_tests=request.with_tests)
    batches = [instances[at : at + BATCH] for at in range(0, len(instances), BATCH)]
    units: list[Unit] = [(settings.places, how, tuple(map(Report.of_instance, batch))) for batch in batches]
    return Threads(settings.workers)("retrieval", localize_with_bm25, units)


def _investigated(
    request: LocalizeRequest, settings: Settings, instances: Sequence[TaskInstance], environ: Mapping[str, str]
) -> list[Localized | Failed]:
    """With the agent. It reads the issue as methods do, without pointers to the fix."""
    store = Store(settings.store)
    board = open_switchboard(store=store, cache=settings.cache, data=settings.models, environ=environ)
    check_models((request.model,), request.budget, board)
    meter = Meter(request.payer, request.budget, already=spent_by(store, request.payer))
    how = AgentSettings(variant=request.retriever, with_tests=request.with_tests)
    mirrors = Mirrors(settings.places.mirrors)
    units: list[Unit] = [
        (settings.places, how, (_report(mirrors, one),), request.model, _Models(request, board, meter, one))
        for one in instances
    ]
    try:
        board.recover()
        return Threads(settings.callers)("localization", localize_with_agent, units)
    finally:
        board.close()


def _report(mirrors: Mirrors, instance: TaskInstance) -> Report:
    pointers = find_pointers(instance, CommitHistory(mirrors, instance.repo, instance.base_commit))
    return replace(Report.of_instance(instance), statement=redacted(instance.problem_statement, pointers))


@dataclass(frozen=True, slots=True)
class _Models:
    """Who answers the agent on one instance."""

    request: LocalizeRequest
    board: Switchboard
    meter: Meter
    instance: TaskInstance

    def __call__(self, key: InstanceKey) -> Model:
        work = Work(
            method=NAME,
            snapshot=self.request.snapshot,
            instance_id=self.instance.instance_id,
            instance_key=key,
            step=self.request.retriever,
            sweep=self.request.payer,
        )
        return self.board.model(self.request.model, work, meters=(self.meter,))


def _recall(request: LocalizeRequest, settings: Settings) -> str:
    """The rows of the snapshot, over all that was ever localized of it in this way."""
    ensure_views(settings.store, settings.database, settings.sql)
    columns = (
        "method, model, n, unmeasured, any_1, any_5, any_10, any_30, recall_1, recall_5, recall_10, recall_30, mrr"
    )
    model = f"model = {literal(request.model)}" if request.model else "model IS NULL"
    asked = f"""
        SELECT {columns} FROM localization_accuracy_by({literal(request.retriever.value)})
        WHERE snapshot = {literal(request.snapshot)} AND method = {literal(request.method)} AND {model}
          AND with_tests = {request.with_tests}
    """
    return text_table(query(settings.database, asked))


def _said(done: Sequence[Localized | Failed]) -> str:
    made = [result for result in done if isinstance(result, Localized)]
    return (
        f"{sum(one.made for one in made)} made, {sum(one.reused for one in made)} reused, "
        f"{sum(one.timeouts for one in made)} timed out"
    )


def _finished(result: Localized | Failed) -> int:
    """Reports that need no further attempt."""
    return 0 if isinstance(result, Failed) else result.made + result.reused - result.timeouts


def _problems(result: Localized | Failed) -> tuple[str, ...]:
    return (f"{result.error.slug}: {result.error}",) if isinstance(result, Failed) else result.problems
