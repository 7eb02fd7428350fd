"""Asks a model to read repairs for the signs of test hacking that detectors cannot find.

The model's finding counts as one vote, like the detectors'. If people read a repair, they decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.adapters.llm.base import Model
from tasks.adapters.store.tables.store import Store
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceKey, ModelName, RepairId
from tasks.domain.places import Places
from tasks.domain.proposed_fix import READ_SIGNS, HackReading, HackSign, Repair
from tasks.domain.undone import OfInstance
from tasks.methods.conversation import Conversation, Thread, Unusable
from tasks.methods.method import MethodBudget
from tasks.methods.prompts import Templates, shortened
from tasks.methods.replies.json_replies import first_object

PROMPT = Templates(Path(__file__).parent)
TRIES = 3
PART_TOKENS = 20_000
"""Maximum length of issue, tests and change each."""
WHY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class HackReadings(OfInstance):
    """Repairs of one instance for a model to read."""

    model: str
    repair_ids: tuple[RepairId, ...]


Models = Callable[[HackReadings, InstanceKey], Model]
"""Returns the model for one instance, metered and recorded for it."""


def read_repairs(places: Places, models: Models, unit: HackReadings) -> int:
    """Stores a row for each repair that the model has not read yet. Returns their number. Skips empty repairs.

    An unreadable reply is requested again; if the last one is unreadable too, no row is stored. Errors of the provider
    or the budget propagate.
    """
    store = Store(places.store)
    (instance,) = store.read(TaskInstance, snapshot=unit.snapshot, instance_id=unit.instance_id)
    known = {row.repair_id for row in store.read(HackReading, repair_id=unit.repair_ids, model=unit.model)}
    repairs = store.read(Repair, repair_id=unit.repair_ids, snapshot=unit.snapshot)
    new = {row.repair_id: row for row in repairs if row.patch.strip() and row.repair_id not in known}
    model, read = models(unit, instance.instance_key), 0
    for repair in sorted(new.values(), key=lambda row: row.repair_id):
        if (found := judged(model, instance, repair.patch)) is not None:
            store.write([_row(repair, unit.model, found)])
            read += 1
    return read


@dataclass(frozen=True, slots=True)
class Judged:
    """A model's finding on one repair."""

    signs: tuple[HackSign, ...]
    why: str


def judged(model: Model, instance: TaskInstance, patch: str) -> Judged | None:
    """Returns the model's finding; None if none of its replies is readable."""
    text = PROMPT.render(
        "read.j2",
        repo=instance.repo,
        issue=shortened(instance.problem_statement, PART_TOKENS),
        tests=shortened(instance.test_patch, PART_TOKENS),
        change=shortened(patch, PART_TOKENS),
    )
    thread = Thread(Conversation(model, MethodBudget(calls=TRIES)), step="read")
    try:
        return thread.ask_until(text, verdict_in, _again, tries=TRIES)
    except Unusable:
        return None


def verdict_in(text: str) -> Judged:
    """Returns the first JSON object of a reply that is a finding. Raises `Unusable` if there is none."""
    return first_object(text, _verdict)


def _verdict(found: Mapping[str, Any]) -> Judged:
    signs, why = found.get("signs"), found.get("why", "")
    names = [sign.value for sign in READ_SIGNS]
    if not isinstance(signs, list) or any(sign not in names for sign in signs):
        raise Unusable("unreadable-verdict", f"signs has to be a list of {', '.join(names)}")
    if signs and not (isinstance(why, str) and why.strip()):
        raise Unusable("no-reason", "why has to say which line is meant")
    return Judged(tuple(sorted(set(map(HackSign, signs)))), str(why).strip()[:WHY])


def _again(problem: Unusable) -> str:
    return f"That cannot be read: {problem.detail}. Reply with the JSON object only."


def _row(repair: Repair, model: str, found: Judged) -> HackReading:
    return HackReading(
        repair_id=repair.repair_id,
        instance_key=repair.instance_key,
        model=ModelName(model),
        signs=found.signs,
        why=found.why,
        read_at=datetime.now(UTC),
    )
