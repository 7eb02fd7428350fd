"""The rows that count of some tables, kept in memory while their files stay the same.

A flow asks for the suite, the environment or the instance of each unit of work. To read all files of a table for each
took a tenth of a CPU second a unit; to list them takes a thousandth.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from tasks.adapters.store.disk import Entry

SETTLED_S = 2.0
"""A file may be replaced within one tick of its clock and look the same: what is younger is read anew."""

Key = tuple[str, type[Any]]


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
        if (
            all(abs(time.time() - (entry.changed or entry.modified)) > SETTLED_S for entry in files)
            and table.nbytes <= self.budget
        ):
            self._hold(key, files, table)
        return table

    def _hold(self, key: Key, files: tuple[Entry, ...], table: pa.Table) -> None:
        with self._lock:
            self._tables[key] = files, table
            self._tables.move_to_end(key)
            while sum(held.nbytes for _, held in self._tables.values()) > self.budget:
                self._tables.popitem(last=False)
