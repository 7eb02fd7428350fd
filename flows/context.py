"""Select the files that methods see in their prompt: the top of a BM25 ranking, or the files that the localization
agent finds.

Each ranking is stored once and shared: a sweep reuses rankings of `swt localize`, and the other way round. The cost of
the agent is therefore counted under `localize`, not under each method that uses its files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flows.engine.units import FlowRun, typed_partial
from flows.interface.requests import GenerateRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.limits.budget import Meter
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.store.tables.store import Store
from tasks.domain.generation import Give
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import Work
from tasks.domain.localization import TOP_N, Localization, RetrieverKind
from tasks.domain.names import InstanceId, InstanceKey
from tasks.generate.estimate import MissingCalls, WorkEstimate
from tasks.localize.settings import AgentSettings, Bm25Settings
from tasks.localize.task import AgentSearch, Bm25Batch, found_before, rank_batch, search_with_agent
from tasks.methods.method import Method

BATCH = 25
"""Instances in one retrieval task."""
LOCALIZE = "localize"
"""Method name under which the calls of the localization agent are counted."""

Context = Mapping[tuple[InstanceId, str], tuple[str, ...]]
"""(Instance, model) → files, best first. Instances whose retrieval failed are missing."""


@dataclass(frozen=True, slots=True)
class SearchModels:
    """Returns the metered and recorded model for one search of the localization agent."""

    router: ModelRouter
    meter: Meter
    payer: str

    def __call__(self, unit: AgentSearch, key: InstanceKey) -> Model:
        work = Work(
            method=label_of(unit.settings),
            snapshot=unit.snapshot,
            instance_id=unit.instance_id,
            instance_key=key,
            step=unit.settings.variant,
            sweep=self.payer,
        )
        return self.router.model(unit.model, work, meters=(self.meter,))


def label_of(settings: AgentSettings) -> str:
    """Returns the method name under which the agent's calls are counted."""
    return LOCALIZE if settings.top_n == TOP_N else f"{LOCALIZE}[top_n={settings.top_n}]"


def retrieve(
    run: FlowRun,
    request: GenerateRequest,
    methods: Sequence[Method],
    instances: Sequence[TaskInstance],
    settings: Settings,
    locator: SearchModels | None = None,
) -> Context:
    """Retrieve files for the instances. Returns empty lists if no method uses files.

    Without a locator the flow does not call the agent. Where the store has no result of the agent, the best files of
    BM25 replace it.
    """
    names = [row.instance_id for row in instances]
    if not wants_files(request, methods):
        return {(name, model): () for name in names for model in request.models}
    if not request.variant.located:
        how = Bm25Settings(variant=RetrieverKind(request.variant["context"] or RetrieverKind.CODE))
        ranked = _ranked(run, request.snapshot, names, settings, how)
        return {(name, model): paths for name, paths in ranked.items() for model in request.models}
    units = searches_of(request, names)
    found = _located(run, units, settings, locator) if locator else _foreseen(run, units, settings)
    wanted = {(name, model): (name, _locating(request, model)) for name in names for model in request.models}
    return {asked: found[search] for asked, search in wanted.items() if search in found}


def wants_files(request: GenerateRequest, methods: Iterable[Method]) -> bool:
    return Give.MODIFIED_FILES not in request.give and any(method.retrieval for method in methods)


def search_settings(request: GenerateRequest) -> AgentSettings:
    """Returns the settings of the localization agent for this request."""
    return AgentSettings(top_n=request.variant.count("top_n") or TOP_N)


def searches_of(request: GenerateRequest, names: Iterable[InstanceId]) -> list[AgentSearch]:
    """Returns one search for each instance and each model that localizes."""
    how = search_settings(request)
    models = dict.fromkeys(_locating(request, model) for model in request.models)
    return [
        AgentSearch(snapshot=request.snapshot, instance_id=name, model=model, settings=how)
        for name in names
        for model in models
    ]


def foreseen_searches(
    request: GenerateRequest, names: Iterable[InstanceId], settings: Settings
) -> Mapping[str, list[MissingCalls]]:
    """Estimate the calls of the searches without calling a model. Returns model → one estimate for each instance."""
    found: defaultdict[str, list[MissingCalls]] = defaultdict(list)
    for unit in searches_of(request, names):
        how, known = unit.settings, found_before(settings.places, unit) is not None
        one = WorkEstimate(
            calls=how.calls,
            tokens_in=how.calls * how.prompt_tokens,
            tokens_in_least=0,
            grows=False,
            tokens_out=None if how.reply_tokens is None else how.calls * how.reply_tokens,
        )
        found[unit.model].append(MissingCalls(estimate=one, finished=frozenset({unit.model} if known else ())))
    return found


def _locating(request: GenerateRequest, model: str) -> str:
    """Returns the model that localizes files for a generation model: the one in the variant, else the same model."""
    return request.variant["locate"] or model


def ranked_batches(snapshot: str, names: Sequence[InstanceId], how: Bm25Settings) -> list[Bm25Batch]:
    """Split the names into batches; the rankings of one batch are written together."""
    parts = [tuple(names[at : at + BATCH]) for at in range(0, len(names), BATCH)]
    return [Bm25Batch(snapshot=snapshot, instance_ids=part, settings=how) for part in parts]


def _ranked(
    run: FlowRun, snapshot: str, names: Sequence[InstanceId], settings: Settings, how: Bm25Settings
) -> dict[InstanceId, tuple[str, ...]]:
    """Rank files with BM25. Returns the files of each instance whose retrieval succeeded."""
    done = run.map_task("retrieval", typed_partial(rank_batch, settings.places), ranked_batches(snapshot, names, how))
    ids = {
        name: key
        for unit, result in done
        for name, key in zip(unit.instance_ids, result.localization_ids, strict=True)
        if name not in {one.subject for one in result.left}
    }
    ranked = rankings(run.store, ids.values())
    return {name: ranked[key] for name, key in ids.items()}


def _located(
    run: FlowRun, units: Sequence[AgentSearch], settings: Settings, locator: SearchModels
) -> dict[tuple[InstanceId, str], tuple[str, ...]]:
    """Run the localization agent. Returns (instance, searching model) → files; empty if the agent gave up."""
    ask = typed_partial(search_with_agent, settings.places, locator)
    done = run.map_task("localization", ask, units, at_once=settings.callers)
    ids = {(unit.instance_id, unit.model): result.localization_ids[0] for unit, result in done if not result.left}
    ranked = rankings(run.store, ids.values())
    return {search: ranked[key] for search, key in ids.items()}


def _foreseen(
    run: FlowRun, units: Sequence[AgentSearch], settings: Settings
) -> dict[tuple[InstanceId, str], tuple[str, ...]]:
    """Returns the stored result of the agent for each search. Without one, returns the same number of files from
    BM25."""
    known = {unit: found_before(settings.places, unit) for unit in units}
    missing = list(dict.fromkeys(unit.instance_id for unit, files in known.items() if files is None))
    how = Bm25Settings(variant=units[0].settings.variant) if units else Bm25Settings()
    instead = _ranked(run, units[0].snapshot, missing, settings, how) if missing else {}
    return {
        (unit.instance_id, unit.model): instead.get(unit.instance_id, ())[: unit.settings.top_n]
        if files is None
        else files
        for unit, files in known.items()
    }


def rankings(store: Store, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Returns localization id → files, best first; empty if the localization ranked no file."""
    found: dict[str, list[Localization]] = {key: [] for key in ids}
    for row in store.read(Localization, localization_id=tuple(found)) if found else ():
        found[row.localization_id].append(row)
    return {key: tuple(row.path for row in sorted(rows, key=lambda row: row.rank)) for key, rows in found.items()}
