"""Computes what a call costs, from dated prices in data/prices.toml and a user's own. Unknown is None, never 0."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from pydantic import NonNegativeFloat, PositiveInt, Strict

from tasks.adapters.llm.base import Usage
from tasks.adapters.toml_files import Filled, TomlTable, checked, read_toml
from tasks.domain.errors import BadInput

MILLION = 1_000_000
DOLLARS = ("input", "output", "cached", "written", "written_for_long")


class Price(TomlTable):
    """US dollars per million tokens, valid from a day on: a table `[[price]]`."""

    key: Filled
    valid_from: date
    input: NonNegativeFloat
    output: NonNegativeFloat
    cached: NonNegativeFloat | None = None
    """Price of tokens from the provider's prompt cache; None: the input price."""
    written: NonNegativeFloat | None = None
    """Price of tokens written to the cache; None: the input price."""
    written_for_long: NonNegativeFloat | None = None
    """Price of tokens that stay in the cache for an hour; None: as `written`."""
    up_to: PositiveInt | None = None
    """Longest prompt in tokens for which this price is valid."""
    source: Filled

    def cost(self, usage: Usage) -> float | None:
        """Return the cost; None if a token count is unknown or the prompt exceeds `up_to`.

        If the provider reports no cache usage, all tokens count as uncached: the highest possible cost.
        """
        if usage.prompt is None or usage.completion is None:
            return None
        if self.up_to is not None and usage.prompt > self.up_to:
            return None
        cached = min(usage.cached or 0, usage.prompt)
        written = min(usage.written or 0, usage.prompt - cached)
        for_long = min(usage.written_for_long or 0, written)
        plain = usage.prompt - cached - written
        return (
            plain * self.input
            + cached * _first(self.cached, self.input)
            + (written - for_long) * _first(self.written, self.input)
            + for_long * _first(self.written_for_long, self.written, self.input)
            + usage.completion * self.output
        ) / MILLION

    def times(self, share: float) -> Price:
        """Return the price multiplied by `share`: batches cost half."""
        dollars = {name: getattr(self, name) for name in DOLLARS}
        return self.model_copy(update={name: share * usd for name, usd in dollars.items() if usd is not None})

    def most(self, prompt: int, completion: int) -> float:
        """Return the highest cost of these tokens, with nothing read from the cache and all written to it.

        Ignores `up_to`.
        """
        dearest = max(self.input, self.cached or 0.0, self.written or 0.0, self.written_for_long or 0.0)
        return (prompt * dearest + completion * self.output) / MILLION


class OwnPrices(TomlTable):
    """The prices in a user's own file."""

    price: Annotated[tuple[Price, ...], Strict(False)] = ()


class PriceFile(OwnPrices):
    """data/prices.toml."""

    checked: date


@dataclass(frozen=True, slots=True)
class Prices:
    """All prices, with each key's entries in order of their days."""

    entries: tuple[Price, ...]

    def at(self, key: str | None, moment: datetime) -> Price | None:
        """Return the price valid at a moment; None if there is none."""
        day = moment.date()
        valid = [entry for entry in self.entries if entry.key == key and entry.valid_from <= day]
        return valid[-1] if valid else None

    def keys(self) -> frozenset[str]:
        return frozenset(entry.key for entry in self.entries)


def read_prices(path: Path, own: Path | None = None) -> Prices:
    """Read the prices of a file; keys in `own` replace all entries of that key.

    Raises `BadInput` with the file, the entry and the invalid value.
    """
    entries = _without_twins(checked(PriceFile, read_toml(path), path.name), path.name)
    if own:
        mine = _without_twins(checked(OwnPrices, {"price": read_toml(own).get("price", ())}, str(own)), str(own))
        keys = {entry.key for entry in mine}
        entries = (*(entry for entry in entries if entry.key not in keys), *mine)
    return Prices(tuple(sorted(entries, key=lambda entry: (entry.key, entry.valid_from))))


def _without_twins(file: OwnPrices, name: str) -> tuple[Price, ...]:
    twins = Counter((entry.key, entry.valid_from) for entry in file.price)
    for (key, day), times in twins.items():
        if times > 1:
            raise BadInput(f"{name} has {times} prices of {key} from {day}", hint="keep one of them")
    return file.price


def _first(*prices: float | None) -> float:
    """Return the first known price; the last argument must be known."""
    return next(price for price in prices if price is not None)
