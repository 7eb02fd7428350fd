"""Uses stored candidates as a source of an evaluation: `stored:METHOD` or `stored:METHOD@MODEL`."""

from __future__ import annotations

from collections.abc import Iterable

from tasks.adapters.store.tables.store import Store
from tasks.domain.candidate import Candidate
from tasks.domain.errors import BadInput
from tasks.domain.instance import TaskInstance
from tasks.evaluate.intake.predictions import Predictions

PREFIX = "stored:"


def source_of(method: str, model: str) -> str:
    """Returns the name of the source; `stored_candidates` parses it."""
    return f"{PREFIX}{method}@{model}"


def is_stored(source: str) -> bool:
    return source.startswith(PREFIX)


def stored_candidates(store: Store, source: str, instances: Iterable[TaskInstance]) -> Predictions:
    """Returns the latest stored candidate per sample for these instances, of a method with one model or with all."""
    method, _, model = source.removeprefix(PREFIX).partition("@")
    if not method:
        raise BadInput(f"{source!r} names no method", hint="stored:METHOD or stored:METHOD@MODEL")
    wanted = {instance.instance_id: instance.snapshot for instance in instances}
    where = {"method": method, "problem": ""} | ({"model": model} if model else {})
    found: dict[tuple[str, str | None, int], Candidate] = {}
    for row in sorted(store.read(Candidate, **where), key=lambda row: (row.created_at, row.candidate_id)):
        if wanted.get(row.instance_id) == row.snapshot:
            found[row.instance_id, row.model, row.sample] = row
    return Predictions(tuple(found.values()), ())
