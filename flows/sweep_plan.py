"""What a sweep would ask for: calls, tokens and dollars for each method and model. No model is asked, no test is run.

Files are retrieved as the sweep would, which stays in the store; prompts are rendered and counted
(tasks/generate/estimate.py). A price that nobody knows leaves the dollars unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import pyarrow as pa

from flows.parameters import GenerateRequest
from flows.run import StoryRun, Threads, begin, line_of
from flows.settings import Settings
from flows.sweep import Context, SweepSummary, chosen_instances, generation_settings, retrieve, sweep, works_for
from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.models import Models, read_models
from tasks.adapters.llm.prices import Price, Prices, read_prices
from tasks.adapters.progress import shown
from tasks.adapters.store.warehouse import Store
from tasks.adapters.tabular import text_table
from tasks.adapters.uv.host import host_environment
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.instance import TaskInstance
from tasks.domain.undone import Undone
from tasks.generate.estimate import Remaining
from tasks.generate.registry import method_named
from tasks.generate.task import estimate_work
from tasks.methods.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One method with one model."""

    method: str
    model: str
    instances: int
    in_store: int
    """Instances that are done and cost nothing."""
    calls: int
    """At most."""
    tokens_in: int | None
    """About; null where the prompts cannot be rendered beforehand."""
    tokens_out: int
    """At most."""
    usd: float | None
    """Of these together; null where price or tokens are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """The planned work, and what stands in its way."""

    rows: tuple[Planned, ...]
    undone: tuple[Undone, ...] = ()
    exit_code: int = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each instance whose files could not be retrieved."""
        return tuple(map(line_of, self.undone))

    @property
    def text(self) -> str:
        """A table and the sums; an unknown summand makes a sum unknown."""
        calls, usd = sum(row.calls for row in self.rows), _sum([row.usd for row in self.rows])
        tokens = _sum([row.tokens_in for row in self.rows])
        said_tokens = "an unknown number of" if tokens is None else f"about {tokens:,.0f}"
        said_usd = "an unknown number of dollars" if usd is None else f"at most {usd:,.2f} dollars"
        table = text_table(pa.Table.from_pylist([asdict(row) for row in self.rows]))
        return f"{table}\nat most {calls} calls, {said_tokens} tokens sent, {said_usd}; nothing was asked"


def sweep_or_plan(request: GenerateRequest, settings: Settings, run: StoryRun) -> SweepSummary | SweepPlan:
    """The story of a sweep, or of its dry run."""
    return plan_sweep(request, settings, run) if request.dry_run else sweep(request, settings, run)


def plan_here(request: GenerateRequest, settings: Settings) -> SweepPlan:
    """Plan in this process, on threads."""
    board, store = Threads(settings.workers), Store(settings.store)
    return begin("plan", f"plan of {request.title}", store, board, lambda run: plan_sweep(request, settings, run))


def plan_sweep(request: GenerateRequest, settings: Settings, run: StoryRun) -> SweepPlan:
    """Count what is missing, method by method and model by model."""
    methods = [method_named(name) for name in request.methods]
    models, prices = read_models(settings.models / "models.toml"), read_prices(settings.models / "prices.toml")
    for name in request.models:
        models.card(name)
    instances = chosen_instances(request, settings)
    found_files = retrieve(run, request, methods, instances, settings)
    context = {row.instance_id: found_files.get(row.instance_id, ()) for row in instances}
    looks = _Looks(request, settings, context)
    rows: list[Planned] = []
    with shown("prompts", len(methods) * len(instances)) as advance:
        for method in methods:
            found = []
            for instance in instances:
                found.append(looks.at(method, instance))
                advance()
            rows += [_planned(method, name, found, _price(models, prices, name)) for name in request.models]
    return SweepPlan(rows=tuple(rows), undone=run.undone(), exit_code=run.exit_code())


class _Looks:
    """Looks at what methods would ask for on instances."""

    def __init__(self, request: GenerateRequest, settings: Settings, context: Context) -> None:
        self.request = request
        self.settings = settings
        self.context = context
        self.store = Store(settings.store)
        self.environments = _environments(settings)

    def at(self, method: Method, instance: TaskInstance) -> Remaining:
        key = instance.instance_key
        environment = self.environments.get(key) or host_environment(instance.repo).environment
        ready = {instance.instance_id: environment.env_id}
        work = works_for(self.request, [method], instance, ready, self.context, self.store)[0]
        how = generation_settings(self.settings)
        return estimate_work(self.settings.places, how, instance, environment, self.request.models, work)


def _environments(settings: Settings) -> Mapping[str, Environment]:
    """Instance key → the environment in use, of those that have one; the others' prompts are rendered as if they ran on
    the interpreter that runs this."""
    store = Store(settings.store)
    rows = {row.env_id: row for row in store.read(Environment)}
    attempts = sorted(store.read(EnvironmentAttempt), key=lambda row: row.tried_at)
    return {row.instance_key: rows[row.env_id] for row in attempts if row.env_id in rows and row.env_id}


def _planned(method: Method, model: str, found: Sequence[Remaining], price: Price | None) -> Planned:
    missing = [work.estimate for work in found if model not in work.finished]
    calls, tokens_out = sum(one.calls for one in missing), sum(one.tokens_out for one in missing)
    tokens_in = _sum([one.tokens_in for one in missing])
    return Planned(
        method=method.name,
        model=model,
        instances=len(found),
        in_store=len(found) - len(missing),
        calls=calls,
        tokens_in=None if tokens_in is None else round(tokens_in),
        tokens_out=tokens_out,
        usd=_cost(price, calls, tokens_in, tokens_out),
    )


def _cost(price: Price | None, calls: int, tokens_in: float | None, tokens_out: int) -> float | None:
    """Dollars for so many calls of equal size."""
    if not calls:
        return 0.0
    if price is None or tokens_in is None:
        return None
    one = price.cost(Usage(prompt=round(tokens_in / calls), completion=round(tokens_out / calls)))
    return None if one is None else round(one * calls, 4)


def _price(models: Models, prices: Prices, name: str) -> Price | None:
    return prices.at(models.card(name).price_key, datetime.now(UTC))


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
