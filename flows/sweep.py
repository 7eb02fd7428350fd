"""The sweep: run methods × models × instances and evaluate their candidates.

    instances ─► environments ─► retrieved files ─► generation ─► evaluation, with `golden` and `nop`

Stored model calls, candidates and runs are not repeated, so a sweep that was killed or reached its budget resumes.
Failures of provider, budget or machine are counted apart, and no method is blamed for them.

A dry run also retrieves files, which stay in the store. It then counts the calls that are missing
(tasks/generate/planning.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import pyarrow as pa

from flows.batches import answered_in_batches
from flows.context import (
    Context,
    SearchModels,
    foreseen_searches,
    label_of,
    retrieve,
    search_settings,
    wants_files,
)
from flows.engine.units import FlowRun, line_of, typed_partial
from flows.environments import EnvironmentOnDemand, find, prepare
from flows.evaluate import EvaluationSummary, evaluate_inside, run_settings
from flows.interface.requests import EvaluationRequest, GenerateRequest
from flows.interface.settings import Settings
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.batches.desk import BatchClient, check_taken
from tasks.adapters.llm.catalogue.model_facts import record_models
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import make_router, metered
from tasks.adapters.patch.read import to_bytes
from tasks.adapters.progress import shown
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import ensure_views
from tasks.adapters.tabular import text_table
from tasks.adapters.uv.host_environment import host_environment
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.generation import Give
from tasks.domain.instance import TaskInstance
from tasks.domain.llm import Work
from tasks.domain.names import EnvId, InstanceId, InstanceKey
from tasks.domain.undone import Undone
from tasks.evaluate.intake.controls import GOLDEN, NOP
from tasks.evaluate.intake.stored_candidates import source_of
from tasks.evaluate.task import check_sandbox, choose_instances
from tasks.generate.batching import check_batches
from tasks.generate.cells import Cell, cells_of
from tasks.generate.choice import Window, drawn, inside
from tasks.generate.estimate import MissingCalls
from tasks.generate.hints import changed_files, fixes_in, most_changed
from tasks.generate.planning import Planned, Prospect, check_sent, environments_in_use, plan_text, planned, prospects_of
from tasks.generate.registry import method_named
from tasks.generate.task import GOLDEN as GOLDEN_FIX
from tasks.generate.task import GenerationSettings, MethodWork, estimate_work, generate, is_left, options_of
from tasks.methods.method import Method

STORY = "sweep"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSummary:
    """Result of a sweep."""

    payer: str
    cells: tuple[Cell, ...]
    calls: int
    """Model calls that this sweep has paid for, including its earlier processes."""
    usd: float
    """The known cost of these calls in dollars."""
    unpriced: int
    """Number of calls whose cost is unknown."""
    estimated_usd: float
    """Estimated cost in dollars of the calls of unknown cost."""
    undone: tuple[Undone, ...]
    exit_code: int
    """0 done, 1 something is incomplete, 3 nothing could be done."""
    evaluation: EvaluationSummary | None = None

    @property
    def left(self) -> int:
        """Pairs of method and instance that are incomplete."""
        return sum(cell.left for cell in self.cells)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each incomplete unit with the reason, and the remarks of the evaluation."""
        return (*map(line_of, self.undone), *(self.evaluation.remarks if self.evaluation else ()))

    @property
    def text(self) -> str:
        """Generated candidates, scores, cost and incomplete work."""
        table = text_table(pa.Table.from_pylist([asdict(cell) for cell in self.cells]))
        booked = f", booked at {self.estimated_usd:.4f}" if self.estimated_usd else ""
        unpriced = f" and {self.unpriced} calls of unknown cost{booked}" if self.unpriced else ""
        paid = f"sweep {self.payer}: {self.calls} calls, {self.usd:.4f} dollars{unpriced}; {self.left} left to do"
        return "\n".join([table, *([self.evaluation.text] if self.evaluation else []), paid])


def sweep(
    request: GenerateRequest, settings: Settings, run: FlowRun, patience: CallRetries | None = None
) -> SweepSummary:
    """The flow. `patience` sets how often one model call is tried."""
    methods = _methods(request, settings)
    instances = chosen_instances(request, settings)
    budget = Budget(calls=request.budget_calls, usd=request.budget_usd)
    router = open_router(settings, _models(request), budget, patience=patience, batch=request.batch)
    check_sandbox(settings.places, run_settings(settings))
    record_models(run.store, router.models)
    # With batches, the flow sends the first questions before their units begin.
    ready = (prepare if request.batch else find)(
        run, settings, request.snapshot, [row.instance_id for row in instances]
    )
    router.recover()  # first: calls that a killed sweep may have paid for count against this budget
    BatchClient(router).settle()
    names, payer = {row.instance_key: row.instance_id for row in instances}, f"sweep {request.payer}"
    try:
        with metered(run.store, settings.cache, request.payer, budget, name=payer) as meter:
            rows = [row for row in instances if row.instance_id in ready]
            context = retrieve(run, request, methods, rows, settings, SearchModels(router, meter, request.payer))
            units = [unit for row in instances for unit in works_for(request, methods, row, ready, context, run.store)]
            how = generation_settings(settings)
            if request.batch:
                model_of, keys = _ModelProvider(request, router, meter, names).model, {names[key]: key for key in names}
                router = answered_in_batches(
                    settings, how, router, meter, units, lambda work: model_of(work, keys[work.instance_id])
                )
            lacks = typed_partial(is_left, settings.places, how)
            work = typed_partial(generate, settings.places, how, _ModelProvider(request, router, meter, names).model)
            ask = EnvironmentOnDemand(settings, lacks, work)
            done = run.map_task("generation", ask, units, at_once=settings.callers)
    finally:
        router.close()
    evaluation = _evaluated(request, settings, run, instances) if request.evaluates else None
    if evaluation:
        ensure_views(settings.store, settings.database, settings.sql)
    cells = cells_of(request.methods, request.models, len(instances), done)
    spent = meter.spent
    return SweepSummary(
        payer=request.payer,
        cells=cells,
        calls=spent.calls,
        usd=spent.usd,
        unpriced=spent.unpriced,
        estimated_usd=spent.estimated_usd,
        undone=run.incomplete(),
        exit_code=run.exit_code(nothing=all(cell.left == cell.instances for cell in cells) and not spent.calls),
        evaluation=evaluation,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """The planned calls and their cost, and the units that could not be planned."""

    rows: tuple[Planned, ...]
    undone: tuple[Undone, ...] = ()
    exit_code: int = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each instance whose files could not be retrieved."""
        return tuple(map(line_of, self.undone))

    @property
    def text(self) -> str:
        return plan_text(self.rows)


def sweep_or_plan(
    request: GenerateRequest, settings: Settings, run: FlowRun, patience: CallRetries | None = None
) -> SweepSummary | SweepPlan:
    """The flow of a sweep, or of its dry run."""
    return plan_sweep(request, settings, run) if request.dry_run else sweep(request, settings, run, patience)


def plan_sweep(request: GenerateRequest, settings: Settings, run: FlowRun) -> SweepPlan:
    """Count missing calls for each method and model."""
    methods = _methods(request, settings)
    prospects = prospects_of(_models(request), settings.models, settings.own_models, run.store, batch=request.batch)
    instances = chosen_instances(request, settings)
    found_files = retrieve(run, request, methods, instances, settings)
    asked_of = [(row.instance_id, model) for row in instances for model in request.models]
    looks = _CostPreview(request, settings, {asked: found_files.get(asked, ()) for asked in asked_of})
    rows = _planned_searches(request, methods, instances, settings, prospects)
    with shown("prompts", len(methods) * len(instances)) as advance:
        for method in methods:
            found = []
            for instance in instances:
                found.append(looks.at(method, instance))
                advance()
            rows += [
                planned(method.name, request.label(method.name), found, prospects[model]) for model in request.models
            ]
    return SweepPlan(rows=tuple(rows), undone=run.incomplete(), exit_code=run.exit_code())


def _planned_searches(
    request: GenerateRequest,
    methods: Sequence[Method],
    instances: Sequence[TaskInstance],
    settings: Settings,
    prospects: Mapping[str, Prospect],
) -> list[Planned]:
    """Count missing calls of the localization searches for the methods' context."""
    if not (request.variant.located and wants_files(request, methods)):
        return []
    names = [row.instance_id for row in instances]
    label = label_of(search_settings(request))
    found = foreseen_searches(request, names, settings)
    return [planned(label, label, looks, prospects[model]) for model, looks in found.items()]


class _CostPreview:
    """Estimates the calls that a method makes on an instance."""

    def __init__(self, request: GenerateRequest, settings: Settings, context: Context) -> None:
        self.request = request
        self.settings = settings
        self.context = context
        self.store = Store(settings.store)
        self.environments = environments_in_use(self.store)

    def at(self, method: Method, instance: TaskInstance) -> MissingCalls:
        key = instance.instance_key
        environment = self.environments.get(key) or host_environment(instance.repo).environment
        ready = {instance.instance_id: environment.env_id}
        how, works = (
            generation_settings(self.settings),
            works_for(self.request, [method], instance, ready, self.context, self.store),
        )
        return estimate_work(self.settings.places, how, instance, environment, works)


@dataclass(frozen=True, slots=True)
class _ModelProvider:
    """Returns metered and recorded models."""

    request: GenerateRequest
    router: ModelRouter
    meter: Meter
    names: Mapping[InstanceKey, InstanceId]

    def model(self, work: MethodWork, key: InstanceKey) -> Model:
        """Returns the model for a unit. Raises `BudgetExhausted` if the budget is spent."""
        self.meter.check()
        owner = Work(
            method=self.request.label(work.method),
            snapshot=work.snapshot,
            instance_id=self.names[key],
            instance_key=key,
            sweep=self.request.payer,
        )
        variant = work.variant
        options = options_of(variant, method_named(work.method))
        return self.router.model(work.model, owner, meters=(self.meter,), options=options, roles=variant.models)


def open_router(
    settings: Settings,
    models: Sequence[str],
    budget: Budget,
    *,
    patience: CallRetries | None = None,
    batch: bool = False,
) -> ModelRouter:
    """Returns the router. Raises early if a model is unknown, its key is missing, or a budget in dollars needs a price
    that is missing."""
    store = Store(settings.store)
    data, own = settings.models, settings.own_models
    router = make_router(store=store, cache=settings.cache, data=data, own=own, environ=settings.environ)
    for name in models:
        router.check_key(name)
        card = router.models.card(name)
        if batch:
            check_taken(card)
        if budget.usd is not None and router.prices.at(card.price_key, router.clock.now()) is None:
            hint = "add the price to a file of your own (docs/models.md), or set a ceiling on calls instead"
            raise UsageError(f"there is a ceiling in dollars, and {name} has no price", hint=hint)
    return replace(router, patience=patience) if patience else router


def _methods(request: GenerateRequest, settings: Settings) -> list[Method]:
    """Returns the methods. Raises `UsageError` if the request has an option that changes nothing for one of them, or
    for a model."""
    methods = [method_named(name) for name in request.methods]
    for method in methods:
        method.check(request.variant)
    check_sent(request.models, request.variant, settings.models, settings.own_models)
    if request.batch:
        check_batches(methods, request.variant)
    return methods


def _models(request: GenerateRequest) -> tuple[str, ...]:
    """Returns all models that are called, including models of single steps."""
    return tuple(dict.fromkeys((*request.models, *request.variant.models.values())))


def chosen_instances(request: GenerateRequest, settings: Settings) -> tuple[TaskInstance, ...]:
    """Returns the instances of a request, in a fixed pseudo-random order."""
    found = choose_instances(settings.places, request.snapshot, request.instances)
    only: set[str] = {row.instance_id for row in found}
    if request.months and request.until:
        ensure_views(settings.store, settings.database, settings.sql)
        only &= inside(Window(months=request.months, until=request.until), request.snapshot, settings.database)
    if request.incorrect:
        only &= fixes_in(request.incorrect).keys()
    if Give.TEST_FILE in request.give:
        only &= {row.instance_id for row in found if most_changed(row.test_patch)}
    mine = drawn(found, only=only, limit=request.limit)
    if not mine:
        raise BadInput(f"no instance of {request.snapshot} is asked for", hint="see `FROM task_instance`")
    return mine


def works_for(
    request: GenerateRequest,
    methods: Iterable[Method],
    instance: TaskInstance,
    ready: Mapping[InstanceId, EnvId],
    context: Context,
    store: Store,
) -> list[MethodWork]:
    """Returns the units of all methods with all models on one instance. Leaves out a unit if its environment or context
    is missing.

    Units of one instance follow one another, so that a spent budget leaves whole instances.
    """
    name = instance.instance_id
    if name not in ready:
        return []
    fix, patch = _fix(request, instance, store)
    modified = Give.MODIFIED_FILES in request.give
    return [
        MethodWork(
            snapshot=request.snapshot,
            instance_id=name,
            env_id=ready[name],
            method=method.name,
            model=model,
            mode=request.mode,
            variant=request.variant,
            context=changed_files(patch) if modified else context[name, model] if method.retrieval else (),
            modified_files=modified,
            test_file=most_changed(instance.test_patch) if Give.TEST_FILE in request.give else "",
            fix=fix,
        )
        for method in methods
        for model in request.models
        if not method.retrieval or (name, model) in context
    ]


def _fix(request: GenerateRequest, instance: TaskInstance, store: Store) -> tuple[str, str]:
    """Returns the fix that methods see: its name in a unit, and its text. Both are empty if there is none."""
    if Give.GOLDEN_PATCH in request.give:
        return GOLDEN_FIX, instance.patch
    if request.incorrect:
        wrong = fixes_in(request.incorrect)[instance.instance_id]
        return store.put_file(to_bytes(wrong)), wrong
    return "", ""


def _evaluated(
    request: GenerateRequest, settings: Settings, run: FlowRun, instances: Iterable[TaskInstance]
) -> EvaluationSummary:
    """Evaluate the candidates of the sweep, and the controls."""
    sources = [source_of(request.label(method), model) for method in request.methods for model in request.models]
    judged = EvaluationRequest(
        candidates=(GOLDEN, NOP, *sources),
        snapshot=request.snapshot,
        instances=tuple(instance.instance_id for instance in instances),
    )
    return evaluate_inside(run, judged, settings, prepared=False)


def generation_settings(settings: Settings) -> GenerationSettings:
    """Returns the settings for running methods."""
    return GenerationSettings(sandbox=settings.sandbox, trusted=settings.trusted, limits=settings.limits)
