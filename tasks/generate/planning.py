"""Estimate calls, tokens and dollars of a sweep for each method and model, without a model call or a test run.

If the store has costs of enough instances, dollars are a range from their 10th to 90th percentile. Otherwise prompts
are rendered and counted (estimate.py).

For rendered prompts, the lower bound has only those that every run sends, all served from the provider's cache, with
replies of one token. The upper bound has all calls, with replies as long as their limit. If prompts grow from call to
call, it takes the model's context as their size. An earlier plan took the size of the first prompt, and an agent's real
input was 37 times that. If a price is unknown, the dollars are unknown. `benchmarks/dry_run.py` compares the bounds
with the real costs of sweeps.
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
"""Minimum instances for an estimate from stored costs. With fewer, a tenth of them is less than one."""


@dataclass(frozen=True, slots=True)
class Past:
    """Dollars of each instance on which a method called a model. Replayed replies count with their original cost."""

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
    """Returns method label → costs, for labels with enough instances. Leaves out instances with a call of unknown
    cost."""
    rows = store.read(LlmCall, model=model, status=(CallStatus.ANSWERED, CallStatus.REPLAYED))
    latest = {(row.work_id, row.position): row for row in sorted(rows, key=lambda row: row.started_at)}
    costs: defaultdict[str, defaultdict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for row in latest.values():
        costs[row.method][row.instance_key].append(row.cost_usd)
    known = {label: tuple(map(_sum, ones.values())) for label, ones in costs.items()}
    told = {label: tuple(one for one in ones if one is not None) for label, ones in known.items()}
    return {label: Past(ones) for label, ones in told.items() if len(ones) >= ENOUGH}


def _sum(costs: list[float | None]) -> float | None:
    """Returns the sum, or None if any cost is None."""
    known = [one for one in costs if one is not None]
    return sum(known) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Estimate for one method with one model."""

    method: str
    model: str
    instances: int
    in_store: int
    """Finished instances, which cost nothing."""
    calls: int
    """Maximum calls."""
    tokens_in: int | None
    """Approximate tokens; None if the prompts cannot be rendered in advance."""
    tokens_out: int | None
    """Maximum tokens; None if only the model's card limits replies."""
    usd_low: float | None
    """Lower bound in dollars for all missing instances; None if the price is unknown."""
    usd_mean: float | None
    """Dollars if the missing instances cost as much as stored ones on average; None without stored costs."""
    usd_high: float | None
    """Upper bound in dollars, without failed attempts; None if the price or the model's context is unknown."""
    past: int
    """Number of stored instances behind the dollars; 0 if they follow from prompts and limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """Price, limits and stored costs of a model."""

    model: str
    price: Price | None
    context: int | None
    """Maximum tokens of a prompt."""
    output: int | None
    """Maximum tokens of a reply; None if its card has no limit."""
    past: Mapping[str, Past]
    """Method label of the candidates → costs."""


def prospects_of(
    names: Sequence[str], data: Path, own: Path | None, store: Store, *, batch: bool = False
) -> Mapping[str, Prospect]:
    """Returns model → prospect. `data` has models.toml and prices.toml; `own` is a file of your own cards and prices.

    In batches the price is halved and stored costs are ignored, because stored calls may have paid the full price.
    Raises `UsageError` if a provider has no batches.
    """
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
    """Raises `UsageError` if an experiment sets an option that one of its models does not accept. `data` and `own` are
    as in `prospects_of`."""
    models, steps = read_models(data / "models.toml", own), variant.without("locate").models
    for name in dict.fromkeys((*names, *steps.values())):
        refuse_unsent(models.card(name), asked_options(variant))


def _asked(price: Price | None, *, batch: bool) -> Price | None:
    return price.times(SHARE) if price and batch else price


def plan_text(rows: Sequence[Planned]) -> str:
    """Returns a table and the totals. A total is unknown if one of its values is."""
    calls, low, high = sum(row.calls for row in rows), *(total([getattr(row, one) for row in rows]) for one in BOUNDS)
    tokens = total([row.tokens_in for row in rows])
    said_tokens = "an unknown number of" if tokens is None else f"about {tokens:,.0f}"
    said_low = "" if low is None else f"at least {low:,.2f} and "
    said_usd = said_low + ("an unknown number of dollars" if high is None else f"at most {high:,.2f} dollars")
    table = text_table(pa.Table.from_pylist([asdict(row) for row in rows]))
    basis = BY_PAST if any(row.past for row in rows) else ""
    return f"{table}\nat most {calls} calls, {said_tokens} tokens sent, {said_usd}{basis}; nothing was asked"


def planned(method: str, label: str, found: Sequence[MissingCalls], asked: Prospect) -> Planned:
    """Estimate the missing calls of a method with a model, from the results on each instance. `label` is the method
    label of the candidates."""
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
    """Round to hundredths of a cent, in the direction of `way`."""
    return None if usd is None else way(round(usd * 10_000, 6)) / 10_000


def _longest(one: WorkEstimate, context: int | None) -> float | None:
    """Returns the maximum tokens of all prompts."""
    if one.grows:
        return None if context is None else one.calls * context
    return None if one.tokens_in is None else MOST * one.tokens_in


def _longest_replies(one: WorkEstimate, asked: Prospect) -> float | None:
    """Returns the maximum tokens of all replies. If only the model's card limits them, uses that limit."""
    if one.tokens_out is not None:
        return one.tokens_out
    limit = asked.output or asked.context
    return None if limit is None else one.calls * limit


BOUNDS = ("usd_low", "usd_high")
FEWEST, MOST = 0.75, 1.5
"""Tokens of a model for one token of `cl100k_base`, at least and at most. o200k has 10 % fewer on code. A provider that
counts four characters a token reports 20 % fewer. Anthropic's count is up to 35 % higher."""
BY_PAST = " if instances cost what 8 of 10 in the store did"


def _least(one: WorkEstimate, asked: Prospect) -> float | None:
    """Returns the dollars of the prompts that every run sends, all served from the provider's cache."""
    if asked.price is None:
        return None
    sent = floor(FEWEST * one.tokens_in_least)
    return asked.price.cost(Usage(prompt=sent, completion=1, cached=sent)) if one.calls else 0.0


def _most(one: WorkEstimate, asked: Prospect) -> float | None:
    """Returns the dollars of all calls, taken as equal in size, with no cache hit and every prompt written to the
    provider's cache."""
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
    """Returns the sum, or None if any value is None."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def environments_in_use(store: Store) -> Mapping[str, Environment]:
    """Returns instance key → the environment in use. Instances without one are missing: their prompts are rendered for
    the interpreter of this process."""
    rows = {row.env_id: row for row in store.read(Environment)}
    attempts = sorted(store.read(EnvironmentAttempt), key=lambda row: row.tried_at)
    return {row.instance_key: rows[row.env_id] for row in attempts if row.env_id in rows and row.env_id}
