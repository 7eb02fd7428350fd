"""What a call costs: the dated table in data/prices.toml, and prices of one's own. Unknown is null, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tasks.adapters.llm.base import Usage
from tasks.adapters.llm.catalogue.tables import TomlTable, read_toml
from tasks.domain.errors import BadInput

MILLION = 1_000_000
DOLLARS = ("input", "output", "cached", "written", "written_for_long")
COLUMNS = ("key", "valid_from", "input", "output", "cached", "written", "written_for_long", "up_to", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens, from a day on."""

    key: str
    valid_from: date
    input: float
    output: float
    cached: float | None = None
    """For tokens in the provider's prompt cache; null: they cost as much as others."""
    written: float | None = None
    """For tokens that are put into the cache; null: they cost as much as others."""
    written_for_long: float | None = None
    """For those that stay there for an hour; null: as `written`."""
    up_to: int | None = None
    """Longest prompt in tokens that this price holds for."""
    source: str

    def cost(self, usage: Usage) -> float | None:
        """Null where a token count is unknown, or the prompt is longer than the price holds for.

        A provider that is silent about its cache is taken to have had nothing in it: the most it can have cost.
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
        """A share of it: what is asked in batches costs half."""
        told = {name: getattr(self, name) for name in DOLLARS}
        changed: dict[str, Any] = {name: share * usd for name, usd in told.items() if usd is not None}
        return replace(self, **changed)

    def most(self, prompt: int, completion: int) -> float:
        """Dollars for so many tokens with nothing in the provider's cache and all put into it, whatever the prompt's
        length."""
        dearest = max(self.input, self.cached or 0.0, self.written or 0.0, self.written_for_long or 0.0)
        return (prompt * dearest + completion * self.output) / MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """The table, each key's entries in the order of their days."""

    entries: tuple[Price, ...]

    def at(self, key: str | None, moment: datetime) -> Price | None:
        """The price in force; null where there is none."""
        day = moment.date()
        valid = [entry for entry in self.entries if entry.key == key and entry.valid_from <= day]
        return valid[-1] if valid else None

    def keys(self) -> frozenset[str]:
        return frozenset(entry.key for entry in self.entries)


def read_prices(path: Path, own: Path | None = None) -> Prices:
    """The table in a file, and the prices of a file of one's own in place of all that have their key.

    `BadInput` names the file, the entry and the value that is wrong."""
    content = read_toml(path)
    TomlTable(content, path.name).known(("checked", "price")).day("checked")
    entries = _entries(content, path.name)
    if own:
        mine = _entries(read_toml(own), str(own))
        keys = {entry.key for entry in mine}
        entries = [entry for entry in entries if entry.key not in keys] + mine
    return Prices(tuple(sorted(entries, key=lambda entry: (entry.key, entry.valid_from))))


def _entries(content: Mapping[str, Any], file: str) -> list[Price]:
    rows = content.get("price", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{file}: price is not a list of tables", hint="begin each with [[price]]")
    entries = [_price(TomlTable(row, f"{file}: price {number}")) for number, row in enumerate(rows, 1)]
    _refuse_twins(entries, file)
    return entries


def _price(table: TomlTable) -> Price:
    table.known(COLUMNS)
    return Price(
        key=table.text("key"),
        valid_from=table.day("valid_from"),
        input=table.number("input"),
        output=table.number("output"),
        cached=table.number_or_none("cached"),
        written=table.number_or_none("written"),
        written_for_long=table.number_or_none("written_for_long"),
        up_to=table.count_or_none("up_to"),
        source=table.text("source"),
    )


def _refuse_twins(entries: list[Price], name: str) -> None:
    seen: set[tuple[str, date]] = set()
    for entry in entries:
        if (entry.key, entry.valid_from) in seen:
            raise BadInput(f"{name} has two prices of {entry.key} from {entry.valid_from}", hint="remove one")
        seen.add((entry.key, entry.valid_from))


def _first(*prices: float | None) -> float:
    """The first that is known; the last always is."""
    return next(price for price in prices if price is not None)
