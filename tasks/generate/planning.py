"""What a sweep would ask for: calls, tokens and dollars for each method and model. No model is asked, no test is run.

Dollars come from what the store's own instances cost, between their 10th and 90th percentile (past_costs.py). With
too few of them, prompts are rendered and counted (estimate.py): at least those that every run sends, all of them in the
provider's cache, with replies of one token; at most all calls with replies as long as their limit, and with prompts as
long as the model's context where they grow from call to call. One plan took such prompts for the first one's size: an
agent's input was 37 times that. A price that nobody knows leaves the dollars unknown. `benchmarks/dry_run.py` holds the
bounds against what sweeps cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil, floor
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

import pyarrow as pa

from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.batches.desk import SHARE, check_taken
from tasks.adapters.llm.catalogue.models import read_models
from tasks.adapters.llm.catalogue.prices import Price, read_prices
from tasks.adapters.llm.dialects.by_name import refuse_unsent
from tasks.adapters.store.tables.store import Store
from tasks.adapters.tabular import text_table
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.variant import Variant
from tasks.generate.estimate import MissingCalls, WorkEstimate
from tasks.generate.task import asked_options

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
    tokens_out: int | None
    """At most; null where only the model's card limits replies."""
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
    output: int | None
    """Tokens of its longest reply; null where its card does not say."""
    past: Mapping[str, Past]
    """By method, as its candidates are counted."""


def prospects_of(
    names: Sequence[str], data: Path, own: Path | None, store: Store, *, batch: bool = False
) -> Mapping[str, Prospect]:
    """The models by name. `data` holds models.toml and prices.toml, `own` is a file of one's own cards and prices.

    In batches half of the prices is to be paid, and the store's history says nothing: it may have paid all of them.
    `UsageError` where a provider takes none."""
    models, prices = read_models(data / "models.toml", own), read_prices(data / "prices.toml", own)
    now = datetime.now(UTC)
    cards = [models.card(name) for name in names]
    for card in cards if batch else ():
        check_taken(card)
    return {
        card.name: Prospect(
            model=card.name,
            price=_asked(prices.at(card.price_key, now), batch=batch),
            context=card.context,
            output=card.output,
            past=past_of(store, card.name) if not batch else {},
        )
        for card in cards
    }


def check_sent(names: Sequence[str], variant: Variant, data: Path, own: Path | None) -> None:
    """`UsageError` where an experiment asks for an option that one of its models is not sent. `data`, `own`: as of
    `prospects_of`."""
    models, steps = read_models(data / "models.toml", own), variant.without("locate").models
    for name in dict.fromkeys((*names, *steps.values())):
        refuse_unsent(models.card(name), asked_options(variant))


def _asked(price: Price | None, *, batch: bool) -> Price | None:
    return price.times(SHARE) if price and batch else price


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


def planned(method: str, label: str, found: Sequence[MissingCalls], asked: Prospect) -> Planned:
    """What is missing of a method with a model, by what was found on each instance. `label`: as it is counted."""
    missing = [work.estimate for work in found if asked.model not in work.finished]
    calls = sum(one.calls for one in missing)
    tokens_in, tokens_out = (total([getattr(one, name) for one in missing]) for name in ("tokens_in", "tokens_out"))
    return Planned(
        method=method,
        model=asked.model,
        instances=len(found),
        in_store=len(found) - len(missing),
        calls=calls,
        tokens_in=None if tokens_in is None else round(tokens_in),
        tokens_out=None if tokens_out is None else round(tokens_out),
        **_dollars(missing, asked, asked.past.get(label)),
    )


def _dollars(missing: Sequence[WorkEstimate], asked: Prospect, past: Past | None) -> dict[str, Any]:
    if past:
        low, mean, high = (round(len(missing) * one, 4) for one in (past.low, past.mean, past.high))
        return {"usd_low": low, "usd_mean": mean, "usd_high": high, "past": len(past.costs)}
    least, most = ([bound(one, asked) for one in missing] for bound in (_least, _most))
    return {
        "usd_low": _rounded(total(least), floor),
        "usd_mean": None,
        "usd_high": _rounded(total(most), ceil),
        "past": 0,
    }


def _rounded(usd: float | None, way: Callable[[float], int]) -> float | None:
    """To hundredths of a cent, outwards."""
    return None if usd is None else way(round(usd * 10_000, 6)) / 10_000


def _longest(one: WorkEstimate, context: int | None) -> float | None:
    """Tokens of all prompts together, at most."""
    if one.grows:
        return None if context is None else one.calls * context
    return None if one.tokens_in is None else MOST * one.tokens_in


def _longest_replies(one: WorkEstimate, asked: Prospect) -> float | None:
    """Tokens of all replies together, at most; where nobody but the model's card limits them, as long as that lets."""
    if one.tokens_out is not None:
        return one.tokens_out
    limit = asked.output or asked.context
    return None if limit is None else one.calls * limit


BOUNDS = ("usd_low", "usd_high")
FEWEST, MOST = 0.75, 1.5
"""Tokens of a model for one of ours (`cl100k_base`). Those of o200k are 10 % fewer on code, a provider that counts four
characters a token tells 20 % fewer, and Anthropic's count up to 35 % more."""
BY_PAST = " if instances cost what 8 of 10 in the store did"


def _least(one: WorkEstimate, asked: Prospect) -> float | None:
    """Dollars of the prompts that are sent in any case, all of them in the provider's cache."""
    if asked.price is None:
        return None
    sent = floor(FEWEST * one.tokens_in_least)
    return asked.price.cost(Usage(prompt=sent, completion=1, cached=sent)) if one.calls else 0.0


def _most(one: WorkEstimate, asked: Prospect) -> float | None:
    """Dollars of all calls of equal size, with nothing in the provider's cache and all put into it."""
    sent, made = _longest(one, asked.context), _longest_replies(one, asked)
    if not one.calls:
        return 0.0
    if asked.price is None or sent is None or made is None:
        return None
    each = ceil(sent / one.calls)
    if asked.price.up_to is not None and each > asked.price.up_to:
        return None
    return one.calls * asked.price.most(each, ceil(made / one.calls))


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
