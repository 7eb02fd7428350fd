"""TOML tables with every value's type checked, and the place named where one is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tasks.adapters.files import regular_file
from tasks.domain.errors import BadInput


def read_toml(path: Path) -> dict[str, Any]:
    """`NotFound` or `BadInput` where the file is not there or is not TOML."""
    try:
        return tomllib.loads(regular_file(path, hint=f"it belongs in {path.parent}").read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} is not TOML: {error}") from None


@dataclass(frozen=True, slots=True)
class TomlTable:
    """One table of a file."""

    values: Mapping[str, Any]
    where: str
    """For messages: `models.toml: model.gpt-5`."""

    def known(self, names: Iterable[str]) -> TomlTable:
        """Itself; `BadInput` where it has a key that nobody reads: a misspelt one must not be ignored."""
        if extra := sorted(set(self.values) - set(names)):
            raise BadInput(f"{self.where} has {', '.join(extra)}", hint=f"known are {', '.join(sorted(names))}")
        return self

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str) or (not value and default is None):
            raise self._wrong(name, "text")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def flag_or_none(self, name: str) -> bool | None:
        return self.flag(name) if name in self.values else None

    def number(self, name: str) -> float:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self._wrong(name, "a number, 0 or more")
        return float(value)

    def number_or_none(self, name: str) -> float | None:
        return self.number(name) if name in self.values else None

    def count_or_none(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._wrong(name, "a whole number, 1 or more")
        return value

    def day(self, name: str) -> date:
        value = self.values.get(name)
        if not isinstance(value, date) or isinstance(value, datetime):
            raise self._wrong(name, "a date such as 2024-07-18, without quotes")
        return value

    def day_or_none(self, name: str) -> date | None:
        return self.day(name) if name in self.values else None

    def _wrong(self, name: str, wanted: str) -> BadInput:
        got = repr(self.values[name]) if name in self.values else "missing"
        return BadInput(f"{self.where}: {name} is {got}", hint=f"it has to be {wanted}")
