"""What the processes of one payer have spent and set aside, so that together they pass no ceiling.

    <cache>/budgets/<key of store and payer>/ledger.sqlite     a line for each process
    <cache>/budgets/<key of store and payer>/<process>.lock    held as long as it lives

A meter reads what earlier processes paid from the store, once, when it begins. What others pay meanwhile stands here:
each process counts for the others what it has spent since they began, and what it has set aside. Of one that was killed
all that it had set aside counts as spent, until it is recovered into the store (Archive.recover) and a process begins
while no other is alive. SQLite does the locking (`BEGIN IMMEDIATE`); processes of several machines do not meet here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from secrets import token_hex
from threading import Lock

from filelock import FileLock, Timeout

from tasks.adapters.coordination.locks import alone
from tasks.adapters.llm.limits.budget import OtherProcesses, ProcessSpend, ReservedSpend, Spent, sum_of

_COUNTS = (*(field.name for field in fields(Spent)), *(f"held_{field.name}" for field in fields(ReservedSpend)))
_TABLE = f"CREATE TABLE IF NOT EXISTS process (owner TEXT PRIMARY KEY, {', '.join(f'{one} REAL' for one in _COUNTS)})"
_SELECT = f"SELECT owner, {', '.join(_COUNTS)} FROM process"
_INSERT = f"INSERT OR REPLACE INTO process VALUES ({', '.join('?' * (len(_COUNTS) + 1))})"
PATIENCE_S = 60.0


@dataclass(slots=True)
class SpendLedger:
    """One process's place among those of a payer. Thread-safe; see `joined`."""

    folder: Path
    owner: str
    before: dict[str, Spent] = field(default_factory=dict)
    """What each of the others had spent when this one began: the store had told of it."""
    recovered: frozenset[str] = frozenset()
    """Those that were dead by then: the store had told of what they had set aside as well."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def turn(self) -> Iterator[tuple[OtherProcesses, Callable[[Spent, ReservedSpend], None]]]:
        """What the others have, and the way to say what this one has; nobody else has a turn meanwhile."""
        with self._lock, closing(_opened(self.folder)) as connection:
            connection.execute("BEGIN IMMEDIATE")

            def say(spent: Spent, held: ReservedSpend) -> None:
                _write(connection, self.owner, spent, held)

            yield self._others(connection), say
            connection.execute("COMMIT")

    def _others(self, connection: sqlite3.Connection) -> OtherProcesses:
        others = (line for line in _lines(connection) if line[0] != self.owner)
        lines = (ProcessSpend(owner, spent, held, _alive(self.folder, owner)) for owner, spent, held in others)
        return sum_of(lines, self.before, self.recovered)


@contextmanager
def joined(folder: Path, read_store: Callable[[], Spent]) -> Iterator[tuple[SpendLedger, Spent]]:
    """A place in the ledger of a folder, and what the store knows of what was spent before.

    What others book between two looks at the ledger may be counted twice then: too much, never too little.
    """
    folder.mkdir(parents=True, exist_ok=True)
    owner = token_hex(8)
    mine = FileLock(_lock_of(folder, owner))
    with alone(folder / "joining"), closing(_opened(folder)) as connection:
        if not any(_alive(folder, other) for other, *_ in _lines(connection)):
            connection.execute("DELETE FROM process")  # what they spent is in the store by now
            for left in folder.glob("*.lock"):
                left.unlink()
        before = {other: spent for other, spent, _ in _lines(connection)}
        recovered = frozenset(other for other in before if not _alive(folder, other))
        already = read_store()
        mine.acquire()
        _write(connection, owner, Spent(), ReservedSpend())
    try:
        yield SpendLedger(folder, owner, before, recovered), already
    finally:
        mine.release()


def _opened(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "ledger.sqlite", timeout=PATIENCE_S, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")  # a power cut ends all of them, and then the store is what counts
    connection.execute(_TABLE)
    return connection


def _lines(connection: sqlite3.Connection) -> list[tuple[str, Spent, ReservedSpend]]:
    lines = []
    for owner, *counts in connection.execute(_SELECT).fetchall():
        known = dict(zip(_COUNTS, counts, strict=True))
        spent = Spent(**{one.name: known[one.name] for one in fields(Spent)})
        held = ReservedSpend(**{one.name: known[f"held_{one.name}"] for one in fields(ReservedSpend)})
        lines.append((owner, spent, held))
    return lines


def _write(connection: sqlite3.Connection, owner: str, spent: Spent, held: ReservedSpend) -> None:
    counts = [getattr(row, one.name) for row in (spent, held) for one in fields(row)]
    connection.execute(_INSERT, (owner, *counts))


def _lock_of(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"


def _alive(folder: Path, owner: str) -> bool:
    path = _lock_of(folder, owner)
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False
