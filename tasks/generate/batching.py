"""Plan the calls that methods will make, by running them with a model that returns nothing; used for batches."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.adapters.llm.base import Model
from tasks.adapters.llm.batches.desk import PlannedCall, foreseeing
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import SwtError, UsageError
from tasks.domain.places import Places
from tasks.domain.variant import PLAIN, Variant
from tasks.generate.estimate import PaperBench
from tasks.generate.task import GenerationSettings, MethodWork, finished, unit_of
from tasks.methods.method import Method, MethodBudget


def check_batches(methods: Sequence[Method], variant: Variant) -> None:
    """Raises `UsageError` if a method cannot list all its calls in advance, or if a model must find the context."""
    talking = [one.name for one in methods if one.external or one.calls(MethodBudget(), PLAIN) > one.samples]
    if talking:
        hint = "--method zero_shot, zero_shot_plus or pass_at_5; the others by a sweep of their own without --batch"
        raise UsageError(f"{', '.join(talking)} asks again about what was answered, which no batch can", hint=hint)
    if variant.located:
        raise UsageError("the localization agent's calls cannot be asked in batches", hint="leave out --batch")


def foresee(places: Places, settings: GenerationSettings, model: Model, work: MethodWork) -> tuple[PlannedCall, ...]:
    """Returns the calls of one unit that have no reply yet. Empty if the unit is finished or cannot run: generation
    then fails in the same way and reports it."""
    store, writer = Store(places.store), foreseeing(model)
    try:
        hands, unit = unit_of(store, places, settings, work)
        if finished(store, unit):
            return ()
        hands.pass_gate(store)
        for _ in unit.method.run(unit.assignment, PaperBench(hands.paths, hands.read), writer, unit.budget):
            pass
    except SwtError:
        return ()
    return tuple(writer.missing)
