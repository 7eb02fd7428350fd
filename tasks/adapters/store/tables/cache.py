"""Rows kept in memory while their files stay the same: those that count of some tables, and those of single files.

A flow asks for the suite, the environment or the instance of each unit of work. To read all files of a table for each
took a tenth of a CPU second a unit; to list them takes a thousandth. And it asks for verdicts again and again while
runs are added, each a file of its own that takes more than a CPU millisecond to open, however few its rows are.
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
"""A file may be replaced within one tick of its clock and look the same: what is younger is read anew."""

Key = tuple[str, type[Any]]


def is_settled(entry: Entry) -> bool:
    """Whether a file is old enough for a later one to look different."""
    return abs(shared_time_ns() / 1e9 - (entry.changed or entry.modified)) > SETTLED_S


class Held:
    """Tables by store and kind, those used longest ago go first. Safe to share by threads."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        """Bytes of all tables together."""
        self._lock = threading.Lock()
        self._tables: OrderedDict[Key, tuple[tuple[Entry, ...], pa.Table]] = OrderedDict()

    def table(self, key: Key, files: tuple[Entry, ...], read: Callable[[], pa.Table]) -> pa.Table:
        """What `read` makes of `files`, or made of them before."""
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
    """The rows of single files, those used longest ago go first. Safe to share by threads."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        """Bytes of all files together."""
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[str, Entry], pa.Table] = OrderedDict()
        self._bytes = 0

    def table(self, url: str, entry: Entry, read: Callable[[], pa.Table]) -> pa.Table:
        """What `read` makes of a file of the store at `url`, or made of it before."""
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
