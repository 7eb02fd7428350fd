"""What a sweep would ask for: calls, tokens and dollars for each method and model. No model is asked, no test is run.

Dollars come from what the store's own instances cost (past.py), between their 10th and 90th percentile. Where there are
too few, prompts are rendered and counted (estimate.py): at least those that are sent in any case, with replies of one
token; at most all calls with replies as long as their limit, and with prompts as long as the model's context where they
grow from call to call. One plan took such prompts for the first one's size: an agent's input was 37 times that. A price
that nobody knows leaves the dollars unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.models import read_models
from tasks.adapters.llm.prices import Price, read_prices
from tasks.adapters.store.warehouse import Store
from tasks.adapters.tabular import text_table
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.generate.estimate import Remaining, WorkEstimate
from tasks.generate.past import Past, past_of


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
    usd_low: float | None
    """For all instances that are missing, at least; null where the price is unknown."""
    usd_mean: float | None
    """What they cost if they cost what others did on average; null without a history."""
    usd_high: float | None
    """At most, attempts that fail not counted; null where the price or the model's context is unknown."""
    past: int
    """Instances in the store that the dollars follow from; 0: they follow from prompts and limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """What is known of a model before it is asked."""

    model: str
    price: Price | None
    context: int | None
    """Tokens of its longest prompt."""
    past: Mapping[str, Past]
    """By method, as its candidates are counted."""


def prospects_of(names: Sequence[str], data: Path, own: Path | None, store: Store) -> Mapping[str, Prospect]:
    """The models by name. `data` holds models.toml and prices.toml, `own` is a file of one's own cards and prices."""
    models, prices = read_models(data / "models.toml", own), read_prices(data / "prices.toml", own)
    now = datetime.now(UTC)
    cards = [models.card(name) for name in names]
    return {
        card.name: Prospect(
            model=card.name,
            price=prices.at(card.price_key, now),
            context=card.context,
            past=past_of(store, card.name),
        )
        for card in cards
    }


def plan_text(rows: Sequence[Planned]) -> str:
    """A table and the sums; an unknown summand makes a sum unknown."""
    calls, low, high = sum(row.calls for row in rows), *(total([getattr(row, one) for row in rows]) for one in BOUNDS)
    tokens = total([row.tokens_in for row in rows])
    said_tokens = "an unknown number of" if tokens is None else f"about {tokens:,.0f}"
    said_low = "" if low is None else f"at least {low:,.2f} and "
    said_usd = said_low + ("an unknown number of dollars" if high is None else f"at most {high:,.2f} dollars")
    table = text_table(pa.Table.from_pylist([asdict(row) for row in rows]))
    basis = BY_PAST if any(row.past for row in rows) else ""
    return f"{table}\nat most {calls} calls, {said_tokens} tokens sent, {said_usd}{basis}; nothing was asked"


def planned(method: str, label: str, found: Sequence[Remaining], asked: Prospect) -> Planned:
    """What is missing of a method with a model, by what was found on each instance. `label`: as it is counted."""
    missing = [work.estimate for work in found if asked.model not in work.finished]
    calls, tokens_out = sum(one.calls for one in missing), sum(one.tokens_out for one in missing)
    tokens_in = total([one.tokens_in for one in missing])
    return Planned(
        method=method,
        model=asked.model,
        instances=len(found),
        in_store=len(found) - len(missing),
        calls=calls,
        tokens_in=None if tokens_in is None else round(tokens_in),
        tokens_out=tokens_out,
        **_dollars(missing, asked, asked.past.get(label)),
    )


def _dollars(missing: Sequence[WorkEstimate], asked: Prospect, past: Past | None) -> dict[str, Any]:
    if past:
        low, mean, high = (round(len(missing) * one, 4) for one in (past.low, past.mean, past.high))
        return {"usd_low": low, "usd_mean": mean, "usd_high": high, "past": len(past.costs)}
    least = [_cost(asked.price, one.calls, one.tokens_in_least, 1) for one in missing]
    most = [_cost(asked.price, one.calls, _longest(one, asked.context), one.tokens_out) for one in missing]
    return {"usd_low": total(least), "usd_mean": None, "usd_high": total(most), "past": 0}


def _longest(one: WorkEstimate, context: int | None) -> int | None:
    """Tokens of all prompts together, at most."""
    if one.grows:
        return None if context is None else one.calls * context
    return one.tokens_in


BOUNDS = ("usd_low", "usd_high")
BY_PAST = " if instances cost what 8 of 10 in the store did"


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
