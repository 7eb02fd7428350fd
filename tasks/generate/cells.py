"""Results of methods × models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.generate.task import Generated, MethodWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Result of one method with one model."""

    method: str
    model: str
    instances: int
    proposed: int
    """Samples with a patch."""
    nothing: int
    """Samples without a patch."""
    reused: int
    """Samples that were already in the store."""
    left: int
    """Instances that provider, budget or machine left incomplete."""


def cells_of(
    methods: Sequence[str], models: Sequence[str], instances: int, done: Iterable[tuple[MethodWork, Generated]]
) -> tuple[Cell, ...]:
    """Returns one row for each method and model. Instances whose unit did not start count as incomplete."""
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
