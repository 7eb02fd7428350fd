"""The sweep: methods × models × instances, from nothing to verdicts.

    instances ─► environments ─► retrieved files ─► generation ─► evaluation, with `golden` and `nop`

Only what is missing is done: a model call, a candidate, a run that is in the store is not paid for or run again, so a
sweep that was killed, or ended at its budget, goes on where it was. What provider, budget or machine leave undone is
counted apart and is nobody's failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from flows.evaluation import EvaluationRequest, run_evaluation
from flows.fan_out import FanOut, Threads
from flows.settings import Settings
from flows.summary import EvaluationSummary
from flows.sweep_request import SweepRequest, Window, chosen_instances
from flows.sweep_summary import SweepSummary
from flows.sweep_work import SweepWork
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.budget import Budget, Meter
from tasks.adapters.llm.model_facts import record_models
from tasks.adapters.llm.switchboard import Switchboard
from tasks.adapters.llm.wiring import open_switchboard, spent_by
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import UsageError
from tasks.domain.llm import Work
from tasks.domain.names import InstanceKey
from tasks.evaluate.controls import GOLDEN, NOP
from tasks.evaluate.stored import source_of
from tasks.evaluate.task import check_sandbox
from tasks.generate.registry import method_named
from tasks.generate.task import ModelFor


def sweep_here(request: SweepRequest, settings: Settings, environ: Mapping[str, str]) -> SweepSummary:
    """Sweep in this process, on threads, with no server."""
    return run_sweep(request, settings, Threads(settings.workers), environ, callers=Threads(settings.callers))


def window_of(months: int | None, until: date | None) -> Window | None:
    """The window that a caller asks for; `UsageError` for half of one."""
    if months is None and until is None:
        return None
    if months is None or until is None:
        raise UsageError("a window is so many months before a day", hint="give both, months and until")
    return Window(months=months, until=until)


def run_sweep(
    request: SweepRequest,
    settings: Settings,
    fan_out: FanOut,
    environ: Mapping[str, str],
    *,
    callers: FanOut | None = None,
) -> SweepSummary:
    """The story. `callers` says where methods talk to models, `fan_out` where everything else is done."""
    methods = [method_named(name) for name in request.methods]
    judged = EvaluationRequest(
        candidates=(), snapshot=request.snapshot, instances=request.instances, trusted=request.trusted
    )
    check_sandbox(settings.places, judged.run_settings(settings))
    store = Store(settings.store)
    board = replace(
        open_switchboard(store=store, cache=settings.cache, data=settings.models, environ=environ),
        patience=request.patience,
    )
    check_models(request.models, request.budget, board)
    record_models(store, board.models)
    instances = chosen_instances(request, settings)
    work = SweepWork(request, settings, methods, instances)
    work.prepare(fan_out)
    meter = Meter(f"sweep {request.payer}", request.share, already=spent_by(store, request.payer))
    try:
        board.recover()
        work.generate(callers or fan_out, lambda method, model: _models(work, board, meter, method, model))
    finally:
        board.close()
    evaluation = _evaluated(request, settings, work, fan_out) if request.evaluate else None
    return SweepSummary(
        payer=request.payer,
        cells=work.cells(),
        calls=meter.spent.calls,
        usd=meter.spent.usd,
        unpriced=meter.spent.unpriced,
        problems=(*work.problems, *(evaluation.problems if evaluation else ())),
        evaluation=evaluation,
    )


def _models(work: SweepWork, board: Switchboard, meter: Meter, method: str, model: str) -> ModelFor:
    """Who answers a method, instance by instance; `BudgetExhausted` instead of a model where nothing is left."""

    def model_for(key: InstanceKey) -> Model:
        with meter.admitted(priced=True):
            pass
        owner = Work(
            method=work.request.label(method),
            snapshot=work.request.snapshot,
            instance_id=work.names[key],
            instance_key=key,
            sweep=work.request.payer,
        )
        return board.model(model, owner, meters=(meter,))

    return model_for


def check_models(models: Sequence[str], budget: Budget, board: Switchboard) -> None:
    """Fail at once for a model that nobody knows, or one whose price a ceiling in dollars would need."""
    for name in models:
        card = board.models.card(name)
        if budget.usd is not None and board.prices.at(card.price_key, board.clock.now()) is None:
            hint = "add the price to data/prices.toml, or set a ceiling on calls instead"
            raise UsageError(f"there is a ceiling in dollars, and {name} has no price", hint=hint)


def _evaluated(request: SweepRequest, settings: Settings, work: SweepWork, fan_out: FanOut) -> EvaluationSummary:
    """Judge the candidates of the sweep, and the controls."""
    sources = [source_of(request.label(method), model) for method in request.methods for model in request.models]
    judged = EvaluationRequest(
        candidates=(GOLDEN, NOP, *sources),
        snapshot=request.snapshot,
        instances=tuple(instance.instance_id for instance in work.instances),
        trusted=request.trusted,
    )
    return run_evaluation(judged, settings, fan_out)
