"""What became of methods × models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.generate.task import Generated, MethodWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What became of one method with one model."""

    method: str
    model: str
    instances: int
    proposed: int
    """Samples with a patch."""
    nothing: int
    """Samples without."""
    reused: int
    """Samples that were in the store."""
    left: int
    """Instances that provider, budget or machine left undone."""


def cells_of(
    methods: Sequence[str], models: Sequence[str], instances: int, done: Iterable[tuple[MethodWork, Generated]]
) -> tuple[Cell, ...]:
    """One row per method and model; instances that were not even begun are left as well."""
    pairs = list(done)
    return tuple(
        _cell(method, model, instances, [got for work, got in pairs if (work.method, work.model) == (method, model)])
        for method in methods
        for model in models
    )


def _cell(method: str, model: str, instances: int, results: Sequence[Generated]) -> Cell:
    total = sum(results, Generated())
    return Cell(
        method=method,
        model=model,
        instances=instances,
        proposed=total.proposed,
        nothing=total.nothing,
        reused=total.reused,
        left=instances - sum(not result.left for result in results),
    )
