"""What a sweep would ask for: calls, tokens and dollars for each method and model. No model is asked, no test is run.

Prompts are rendered and counted (estimate.py). A price that nobody knows leaves the dollars unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.prices import Price
from tasks.adapters.store.warehouse import Store
from tasks.adapters.tabular import text_table
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.generate.estimate import Remaining
from tasks.methods.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One method with one model."""

    method: str
    model: str
    instances: int
    in_store: int
    """Instances that are done and cost nothing."""
    calls: int
    """At most."""
    tokens_in: int | None
    """About; null where the prompts cannot be rendered beforehand."""
    tokens_out: int
    """At most."""
    usd: float | None
    """Of these together; null where price or tokens are unknown."""


def plan_text(rows: Sequence[Planned]) -> str:
    """A table and the sums; an unknown summand makes a sum unknown."""
    calls, usd = sum(row.calls for row in rows), total([row.usd for row in rows])
    tokens = total([row.tokens_in for row in rows])
    said_tokens = "an unknown number of" if tokens is None else f"about {tokens:,.0f}"
    said_usd = "an unknown number of dollars" if usd is None else f"at most {usd:,.2f} dollars"
    table = text_table(pa.Table.from_pylist([asdict(row) for row in rows]))
    return f"{table}\nat most {calls} calls, {said_tokens} tokens sent, {said_usd}; nothing was asked"


def planned(method: Method, model: str, found: Sequence[Remaining], price: Price | None) -> Planned:
    """What is missing of a method with a model, by what was found on each instance."""
    missing = [work.estimate for work in found if model not in work.finished]
    calls, tokens_out = sum(one.calls for one in missing), sum(one.tokens_out for one in missing)
    tokens_in = total([one.tokens_in for one in missing])
    return Planned(
        method=method.name,
        model=model,
        instances=len(found),
        in_store=len(found) - len(missing),
        calls=calls,
        tokens_in=None if tokens_in is None else round(tokens_in),
        tokens_out=tokens_out,
        usd=_cost(price, calls, tokens_in, tokens_out),
    )


def _cost(price: Price | None, calls: int, tokens_in: float | None, tokens_out: int) -> float | None:
    """Dollars for so many calls of equal size."""
    if not calls:
        return 0.0
    if price is None or tokens_in is None:
        return None
    one = price.cost(Usage(prompt=round(tokens_in / calls), completion=round(tokens_out / calls)))
    return None if one is None else round(one * calls, 4)


def total(values: Sequence[float | None]) -> float | None:
    """Their sum; null where one of them is."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def environments_in_use(store: Store) -> Mapping[str, Environment]:
    """Instance key → the environment in use, of those that have one; the others' prompts are rendered as if they ran on
    the interpreter that runs this."""
    rows = {row.env_id: row for row in store.read(Environment)}
    attempts = sorted(store.read(EnvironmentAttempt), key=lambda row: row.tried_at)
    return {row.instance_key: rows[row.env_id] for row in attempts if row.env_id in rows and row.env_id}
