"""`swt submit check`: reports the contents of a predictions file and its problems. Runs and stores nothing.

It uses the reader of `swt evaluate`, so both accept the same rows and report the same problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tasks.adapters.llm.catalogue.models import Models
from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.errors import NotFound
from tasks.domain.instance import TaskInstance
from tasks.evaluate.intake.load import read_sources


def check_submission(store: Store, models: Models, file: Path, snapshot: str) -> tuple[str, bool]:
    """Returns one line per method, problem and note, and whether the file has no problem.

    Raises `NotFound` if the snapshot or the file does not exist; `UsageError` or `BadInput` like `take_candidates`.
    """
    instances = store.read(TaskInstance, snapshot=snapshot)
    if not instances:
        raise NotFound(f"there is no snapshot {snapshot!r}", hint="`swt snapshot list` names them")
    read = read_sources(store, (str(file),), tuple(instances))
    notes = [*read.notes, *_unknown_models(file, read.candidates, set(models.cards))]
    lines = [*_methods(read.candidates, len(instances)), *read.problems, *(f"note: {note}" for note in notes)]
    ending = f"{len(read.problems)} problems" if read.problems else "nothing is wrong with it"
    return "\n".join([*lines, f"{len(read.candidates)} predictions for {snapshot}: {ending}"]), not read.problems


def _unknown_models(file: Path, candidates: Iterable[Candidate], known: set[str]) -> Iterator[str]:
    named = Counter(str(one.model) for one in candidates if one.model)
    for model in sorted(set(named) - known):
        yield (
            f"{file.name}: model {model} has no card (docs/models.md): contamination cannot be told without its cutoff"
        )


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
