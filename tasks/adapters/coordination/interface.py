"""The interface of both backends: claims under names, and small rows that processes change in transactions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tasks.domain.errors import LeaseError

Row = dict[str, Any]
"""A JSON object. Numbers keep all their digits."""

FAILURES = (LeaseError, sqlite3.Error)
"""Errors that a transaction raises if its database fails."""


def parse_rows(found: Iterable[tuple[str, str]]) -> dict[str, Row]:
    """Parse rows that are stored as JSON. One parse for all: single parses of 4,000 rows took 4 ms longer."""
    texts = dict(found)
    return dict(zip(texts, json.loads(f"[{','.join(texts.values())}]"), strict=True))


class Claim(Protocol):
    """The exclusive right to do one thing."""

    def confirmed(self) -> bool:
        """Return whether this process still has the claim. A process that hangs can lose a lease."""
        ...


class Transaction(Protocol):
    """The rows of one table, while no other process reads or writes them."""

    @property
    def now(self) -> float:
        """Seconds since the epoch, by the clock that all processes share."""
        ...

    def rows(self) -> dict[str, Row]:
        """Return all rows by key, in the order in which their keys were first written."""
        ...

    def get(self, key: str) -> Row | None: ...

    def put(self, key: str, row: Row) -> None:
        """Write a row. An existing row keeps its place in the order."""
        ...

    def delete(self, keys: Iterable[str]) -> None: ...

    def claimed(self, names: Iterable[str]) -> Collection[str]:
        """Return the names that a live process has claimed."""
        ...


class Coordinator(Protocol):
    """Claims and tables of the processes that share one piece of work."""

    def claim(self, name: str, *, wait: bool, patience_s: float = 0.0) -> AbstractContextManager[Claim | None]:
        """Hold a claim. Yields None if another process has it; with `wait`, never None.

        With `patience_s`, a hanging process keeps its lease for that many more seconds if its connection is open.
        """
        ...

    def transaction(self, table: str) -> AbstractContextManager[Transaction]:
        """Change the rows of a table, all or nothing. Raises one of `FAILURES` if nothing was changed."""
        ...
