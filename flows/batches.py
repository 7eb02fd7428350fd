"""The calls of a sweep in batches, before its methods ask: what was answered is replayed to them.

    prompts of all work ─► a batch for each model ─► replies in the store ─► generation, as without batches

What a batch leaves unanswered for the provider's reasons is handed in again, three times in all, and is then left
undone; it is not asked by itself, which would cost the full price that nobody agreed to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from flows.interface.settings import Settings
from tasks.adapters.llm.base import Model
from tasks.adapters.llm.batches.desk import BatchClient, PlannedCall
from tasks.adapters.llm.errors import BudgetExhausted, ModelError, ProviderFailed
from tasks.adapters.llm.limits.budget import Meter
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.progress import shown
from tasks.domain.errors import SwtError
from tasks.generate.batching import foresee
from tasks.generate.task import GenerationSettings, MethodWork

TIMES = 3
"""A call is put into so many batches at most."""


def answered_in_batches(
    settings: Settings,
    how: GenerationSettings,
    router: ModelRouter,
    meter: Meter,
    units: Sequence[MethodWork],
    model_for: Callable[[MethodWork], Model],
) -> ModelRouter:
    """The switchboard for generation: it has the replies, and withholds what got none."""
    desk, failed = BatchClient(router), dict[str, ModelError]()
    for _ in range(TIMES):
        calls = [one for one in _foreseen(settings, how, units, model_for) if _again(failed.get(one.request.call_key))]
        for model in sorted({one.request.model for one in calls}):
            asked = [one for one in calls if one.request.model == model]
            for one in asked:
                failed.pop(one.request.call_key, None)
            failed |= desk.ask(asked, meter)
    return replace(router, withheld=failed)


def _foreseen(
    settings: Settings,
    how: GenerationSettings,
    units: Sequence[MethodWork],
    model_for: Callable[[MethodWork], Model],
) -> list[PlannedCall]:
    found: list[PlannedCall] = []
    with shown("prompts", len(units)) as advance:
        for unit in units:
            try:
                found += foresee(settings.places, how, model_for(unit), unit)
            except BudgetExhausted:
                break
            advance()
    return found


def _again(problem: SwtError | None) -> bool:
    """Whether a call that came out of a batch with this, or was in none, belongs into the next one."""
    return problem is None or isinstance(problem, ProviderFailed)
