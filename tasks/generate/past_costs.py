"""What a method with a model cost on the instances that the store knows: the best forecast for further ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, quantiles

from tasks.adapters.store.rows.store import Store
from tasks.domain.llm import CallStatus, LlmCall

ENOUGH = 5
"""Instances from which a history is told. With fewer, a tenth of them is less than one."""


@dataclass(frozen=True, slots=True)
class Past:
    """Dollars for each instance on which a method asked a model; replayed replies at what they cost once."""

    costs: tuple[float, ...]

    @property
    def mean(self) -> float:
        return mean(self.costs)

    @property
    def low(self) -> float:
        """The 10th percentile."""
        return quantiles(self.costs, n=10, method="inclusive")[0]

    @property
    def high(self) -> float:
        """The 90th percentile."""
        return quantiles(self.costs, n=10, method="inclusive")[8]


def past_of(store: Store, model: str) -> Mapping[str, Past]:
    """By the label of the method, where there are enough instances. One with a call of unknown cost is left out."""
    rows = store.read(LlmCall, model=model, status=(CallStatus.ANSWERED, CallStatus.REPLAYED))
    latest = {(row.work_id, row.position): row for row in sorted(rows, key=lambda row: row.started_at)}
    costs: defaultdict[str, defaultdict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for row in latest.values():
        costs[row.method][row.instance_key].append(row.cost_usd)
    known = {label: tuple(map(_sum, ones.values())) for label, ones in costs.items()}
    told = {label: tuple(one for one in ones if one is not None) for label, ones in known.items()}
    return {label: Past(ones) for label, ones in told.items() if len(ones) >= ENOUGH}


def _sum(costs: list[float | None]) -> float | None:
    """Null where one of them is."""
    known = [one for one in costs if one is not None]
    return sum(known) if len(known) == len(costs) else None
