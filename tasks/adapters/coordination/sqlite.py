"""The backend for one machine: lock files and SQLite.

<folder>/<name>.lock    held as long as its claim; removed with it
<folder>/rows.sqlite    rows of all tables
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.coordination.interface import Claim, Row, Transaction, parse_rows
from tasks.adapters.coordination.locks import temporary_lock
from tasks.domain.names import file_name

PATIENCE_S = 60.0
"""Seconds that a transaction waits for the transactions of other processes."""

_TABLE = """
    CREATE TABLE IF NOT EXISTS line (
        place INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, key TEXT, value TEXT, UNIQUE (kind, key)
    )
"""
_PUT = """
    INSERT INTO line (kind, key, value) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value
"""


class LocalClaim:
    """A claim that lasts as long as its process: the kernel holds it."""

    def confirmed(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class LocalTransaction:
    coordinator: LocalCoordinator
    connection: sqlite3.Connection
    table: str
    now: float

    def rows(self) -> dict[str, Row]:
        return parse_rows(
            self.connection.execute("SELECT key, value FROM line WHERE kind = ? ORDER BY place", [self.table])
        )

    def get(self, key: str) -> Row | None:
        found = self.connection.execute("SELECT value FROM line WHERE kind = ? AND key = ?", [self.table, key])
        return next((json.loads(value) for (value,) in found), None)

    def put(self, key: str, row: Row) -> None:
        self.connection.execute(_PUT, [self.table, key, json.dumps(row)])

    def delete(self, keys: Iterable[str]) -> None:
        named = [(self.table, key) for key in keys]
        self.connection.executemany("DELETE FROM line WHERE kind = ? AND key = ?", named)

    def claimed(self, names: Iterable[str]) -> Collection[str]:
        return {name for name in names if self.coordinator.is_claimed(name)}


@dataclass(frozen=True, slots=True)
class LocalCoordinator:
    """Coordinator of one machine. Raises `sqlite3.Error` if the file with the rows is damaged."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)

    @contextmanager
    def claim(self, name: str, *, wait: bool, patience_s: float = 0.0) -> Iterator[Claim | None]:
        del patience_s  # the kernel holds a lock for as long as its process exists
        with temporary_lock(self._lock_of(name), wait=wait) as held:
            yield LocalClaim() if held else None

    @contextmanager
    def transaction(self, table: str) -> Iterator[Transaction]:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "rows.sqlite"
        with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # after a power cut no process needs its rows
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            yield LocalTransaction(self, connection, table, self.clock.now().timestamp())
            connection.execute("COMMIT")

    def is_claimed(self, name: str) -> bool:
        path = self._lock_of(name)
        if not path.exists():
            return False
        with temporary_lock(path, wait=False) as held:
            return not held

    def _lock_of(self, name: str) -> Path:
        return self.folder / f"{file_name(name)}.lock"
