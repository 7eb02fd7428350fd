"""How often each term occurs in a file, counted once for each content and kept on disk.

Reading terms is what retrieval costs (seconds for a large repository; the index itself takes a tenth of one), and
most files are the same in most commits. So counts are kept by the blob's SHA-1, in one SQLite file per repository and
analyzer. Terms are numbered once per file of the cache, so that an index is put together from arrays of numbers.

Safe to share by the threads and processes of one machine; deleting it loses nothing but time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.adapters.coordination.locks import file_lock
from tasks.domain.errors import InfrastructureError

WAIT_S = 120.0
"""How long a writer waits for another one."""
_CHUNK = 500
_TABLES = """
    CREATE TABLE IF NOT EXISTS term (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS document (
        name TEXT PRIMARY KEY, terms BLOB NOT NULL, counts BLOB NOT NULL, tokens INTEGER NOT NULL
    ) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Term counts of several documents, one after the other: the parts of a sparse matrix by rows."""

    starts: NDArray[np.int64]
    """Document d has the entries `starts[d]` to `starts[d + 1]`."""
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]
    tokens: NDArray[np.int64]
    """What each document costs in a prompt (budget.py)."""


@dataclass(frozen=True, slots=True)
class TermCache:
    """The counts of one repository under one analyzer."""

    path: Path
    analyze: Callable[[str], Iterable[str]]
    measure: Callable[[str], int]
    """Text → tokens of a prompt."""

    def counts(self, names: Sequence[str], read: Callable[[Sequence[str]], Iterator[str]]) -> Counts:
        """The counts of the documents `names`, in order. `read` is asked for the texts of those that are new.

        A name has to name one content for ever.
        """
        distinct = tuple(dict.fromkeys(names))
        with self._open() as connection:
            missing = _missing(connection, distinct)
            if missing:
                self._add(connection, missing, read(missing))
            return _joined(names, _stored(connection, distinct))

    def numbers(self, terms: Iterable[str]) -> Mapping[str, int]:
        """The numbers of those terms that occur in any document of the cache, in which something was counted."""
        with self._connected() as connection:
            return _numbers(connection, tuple(dict.fromkeys(terms)))

    def _add(self, connection: sqlite3.Connection, names: Sequence[str], texts: Iterator[str]) -> None:
        """Count first, then take the lock: writers keep each other waiting for the writing only."""
        counted = [
            (name, Counter(self.analyze(text)), self.measure(text)) for name, text in zip(names, texts, strict=True)
        ]
        terms = sorted({term for _, counter, _ in counted for term in counter})
        with _transaction(connection):
            connection.executemany("INSERT OR IGNORE INTO term (text) VALUES (?)", ((term,) for term in terms))
            number = _numbers(connection, terms)
            rows = ((name, *_arrays(counter, number), tokens) for name, counter, tokens in counted)
            connection.executemany("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Ready for writing; made if need be."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            with file_lock(self.path.with_name(f".{self.path.name}.lock")):  # SQLite waits for no change of mode
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(_TABLES)
            connection.execute("PRAGMA synchronous=NORMAL")
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)) as connection:
                yield connection
        except sqlite3.Error as error:
            hint = "delete the file: it is made again"
            raise InfrastructureError(f"the term counts in {self.path} cannot be used: {error}", hint=hint) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _arrays(counter: Counter[str], number: Mapping[str, int]) -> tuple[bytes, bytes]:
    terms = np.fromiter((number[term] for term in counter), np.int32, len(counter))
    counts = np.fromiter(counter.values(), np.int32, len(counter))
    return terms.tobytes(), counts.tobytes()


def _missing(connection: sqlite3.Connection, names: Sequence[str]) -> tuple[str, ...]:
    known = {row[0] for row in _select(connection, "SELECT name FROM document WHERE name IN", names)}
    return tuple(name for name in names if name not in known)


def _stored(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, tuple[bytes, bytes, int]]:
    rows = _select(connection, "SELECT name, terms, counts, tokens FROM document WHERE name IN", names)
    return {name: (terms, counts, tokens) for name, terms, counts, tokens in rows}


def _numbers(connection: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    return dict(_select(connection, "SELECT text, number FROM term WHERE text IN", terms))


def _select(connection: sqlite3.Connection, query: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of `query (values…)`, in chunks that every SQLite takes."""
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        yield from connection.execute(f"{query} ({', '.join('?' * len(chunk))})", chunk)


def _joined(names: Sequence[str], stored: Mapping[str, tuple[bytes, bytes, int]]) -> Counts:
    terms = [np.frombuffer(stored[name][0], np.int32) for name in names]
    counts = [np.frombuffer(stored[name][1], np.int32) for name in names]
    sizes = np.fromiter((len(one) for one in terms), np.int64, len(names))
    return Counts(
        starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        terms=np.concatenate([np.empty(0, np.int32), *terms]),
        counts=np.concatenate([np.empty(0, np.int32), *counts]),
        tokens=np.fromiter((stored[name][2] for name in names), np.int64, len(names)),
    )
