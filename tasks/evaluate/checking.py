"""`swt submit check`: what a predictions file holds, and what is wrong with it. Nothing is run or stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tasks.adapters.llm.models import Models
from tasks.adapters.rows.reader import read_rows
from tasks.adapters.store.warehouse import Store
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.evaluate.predictions import METHOD_NAMES, PATCH_NAMES, read_predictions

READ = ("instance_id", *METHOD_NAMES, *PATCH_NAMES, "model", "sample", "date")
NUMBERS = ("cost_usd", "seconds", "tokens_in", "tokens_out", "calls")
"""Told for readers: at least 0, checked and not judged."""
TRAJECTORY = "trajectory"
"""Path of a file beside the predictions."""


def check_submission(store: Store, models: Models, file: Path, snapshot: str) -> tuple[str, bool]:
    """A line for each method, and for each thing that is wrong; whether nothing is."""
    instances = store.read(TaskInstance, snapshot=snapshot)
    if not instances:
        raise NotFound(f"there is no snapshot {snapshot!r}", hint="`swt snapshot list` names them")
    taken = read_predictions(file, instances, created_at=datetime.now(UTC))
    wrong = [f"{file.name}:{one.line}: {one.instance_id or '?'}: {one.what}" for one in taken.problems]
    for row in read_rows(file):
        wrong += [f"{file.name}:{row.line}: {what}" for what in _told(row.values, file.parent)]
    known = set(models.cards)
    wrong += list(_unknown_models(taken.candidates, known))
    lines = [*_methods(taken.candidates, len(instances)), *wrong]
    ending = f"{len(wrong)} problems" if wrong else "nothing is wrong with it"
    return "\n".join([*lines, f"{len(taken.candidates)} predictions for {snapshot}: {ending}"]), not wrong


def _told(values: Mapping[str, object], beside: Path) -> Iterator[str]:
    """What is wrong with the keys that are told and not judged, and with unknown ones."""
    for name in NUMBERS:
        value = values.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            yield f"{name} is {value!r} and not a number of at least 0"
    place = values.get(TRAJECTORY)
    if place is not None and not (isinstance(place, str) and _is_beside(beside, place)):
        yield f"{TRAJECTORY} is {place!r} and not a file beside the predictions"
    if other := sorted(set(values) - {*READ, *NUMBERS, TRAJECTORY}):
        yield f"nothing reads {', '.join(other)}"


def _is_beside(folder: Path, place: str) -> bool:
    found = (folder / place).resolve()
    return found.is_file() and found.is_relative_to(folder.resolve())


def _unknown_models(candidates: Iterable[Candidate], known: set[str]) -> Iterator[str]:
    named = Counter(str(one.model) for one in candidates if one.model)
    for model in sorted(set(named) - known):
        yield f"model {model} has no card (docs/models.md): contamination cannot be told without its cutoff"


def _methods(candidates: Iterable[Candidate], instances: int) -> Iterator[str]:
    found: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for one in candidates:
        found[one.method, one.model or "no model"].append(one)
    for (method, model), rows in sorted(found.items()):
        yield (
            f"{method} ({model}): {len({row.instance_id for row in rows})} of {instances} instances, "
            f"{1 + max(row.sample for row in rows)} samples at most, "
            f"{sum(not row.patch.strip() for row in rows)} empty, "
            f"{sum(row.made_at is None for row in rows)} without a date"
        )
