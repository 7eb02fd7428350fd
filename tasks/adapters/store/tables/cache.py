"""In-memory cache of rows, valid while their files do not change: of whole tables and of single files.

A flow reads the suite, the environment or the instance for each task. Reading all files of a table takes a tenth of a
CPU second per task; listing them takes a thousandth. A flow also reads verdicts repeatedly while runs are added. Each
run is a file of its own, and opening one takes more than 1 ms of CPU, however few rows it has.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tasks.adapters.coordination.postgres import shared_time_ns
from tasks.adapters.store.files.disk import Entry

SETTLED_S = 2.0
"""Minimum age before a file is cached: a file replaced within one clock tick can look unchanged."""

Key = tuple[str, type[Any]]


def is_settled(entry: Entry) -> bool:
    """Whether the file is so old that a later version would have a different timestamp."""
    return abs(shared_time_ns() / 1e9 - (entry.changed or entry.modified)) > SETTLED_S


class Held:
    """Cache of tables by store and table type. Evicts the least recently used. Thread-safe."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        """Maximum size of all tables together, in bytes."""
        self._lock = threading.Lock()
        self._tables: OrderedDict[Key, tuple[tuple[Entry, ...], pa.Table]] = OrderedDict()

    def table(self, key: Key, files: tuple[Entry, ...], read: Callable[[], pa.Table]) -> pa.Table:
        """Return `read()`, or its cached result for the same `files`."""
        with self._lock:
            known = self._tables.get(key)
            if known and known[0] == files:
                self._tables.move_to_end(key)
                return known[1]
        table = read()
        if all(map(is_settled, files)) and table.nbytes <= self.budget:
            self._hold(key, files, table)
        return table

    def _hold(self, key: Key, files: tuple[Entry, ...], table: pa.Table) -> None:
        with self._lock:
            self._tables[key] = files, table
            self._tables.move_to_end(key)
            while sum(held.nbytes for _, held in self._tables.values()) > self.budget:
                self._tables.popitem(last=False)


class HeldFiles:
    """Cache of the rows of single files. Evicts the least recently used. Thread-safe."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        """Maximum size of all files together, in bytes."""
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[str, Entry], pa.Table] = OrderedDict()
        self._bytes = 0

    def table(self, url: str, entry: Entry, read: Callable[[], pa.Table]) -> pa.Table:
        """Return `read()` for a file of the store at `url`, or its cached result."""
        key = url, entry
        with self._lock:
            if key in self._tables:
                self._tables.move_to_end(key)
                return self._tables[key]
        table = read()
        if is_settled(entry):
            with self._lock:
                self._hold(key, table)
        return table

    def _hold(self, key: tuple[str, Entry], table: pa.Table) -> None:
        self._bytes += table.nbytes - (self._tables[key].nbytes if key in self._tables else 0)
        self._tables[key] = table
        while self._bytes > self.budget:
            _, gone = self._tables.popitem(last=False)
            self._bytes -= gone.nbytes
