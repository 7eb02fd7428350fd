"""Send the model calls of a sweep in batches, before its methods run. Generation then replays the stored replies.

    prompts of all units ─► one batch for each model ─► replies in the store ─► generation, as without batches

A call that fails for a provider reason goes into up to three batches. After that it stays incomplete. The flow never
sends it as a single call: that costs the full price, which the user did not agree to.
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
"""Maximum number of batches that one call is put into."""


def answered_in_batches(
    settings: Settings,
    how: GenerationSettings,
    router: ModelRouter,
    meter: Meter,
    units: Sequence[MethodWork],
    model_for: Callable[[MethodWork], Model],
) -> ModelRouter:
    """Run the batches. Returns the router for generation: it replays the replies and blocks the calls that got none."""
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
    """Whether a call belongs in the next batch: it was in no batch yet, or the provider failed."""
    return problem is None or isinstance(problem, ProviderFailed)
