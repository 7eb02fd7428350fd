"""The ledger of a payer whose processes are on several machines: a row for each in PostgreSQL (leases.py).

The same interface as the ledger of one machine (spend_sqlite.py). A process is alive as long as
its connection is seen, or renewed its row within two leases: by then the claims of one that died are over, so that
whoever begins has recovered its calls into the store. A turn is a transaction: one that stands still in it loses it,
and has set nothing aside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from secrets import token_hex
from threading import Lock

from tasks.adapters.coordination.leases import ALIVE, Ask, Leases
from tasks.adapters.llm.limits.budget import OtherProcesses, ProcessSpend, ReservedSpend, Spent, sum_of
from tasks.domain.errors import LeaseError

_TURN = "SELECT 1 FROM (SELECT pg_advisory_xact_lock(%(class)s + 1, hashtext(%(payer)s))) AS taken"
_LINES = f"SELECT owner, counts, {ALIVE} FROM swt_budget WHERE payer = %(payer)s ORDER BY owner"
_WRITE = """
    INSERT INTO swt_budget (payer, owner, session, until, counts)
    VALUES (%(payer)s, %(owner)s, %(session)s, clock_timestamp() + %(lease_s)s * interval '1 second', %(counts)s::jsonb)
    ON CONFLICT (payer, owner) DO UPDATE SET counts = excluded.counts RETURNING 1
"""
_LEAVE = """
    UPDATE swt_budget SET session = 0, until = clock_timestamp() - interval '1 day'
    WHERE payer = %(payer)s AND owner = %(owner)s RETURNING 1
"""
_FORGET = "DELETE FROM swt_budget WHERE payer = %(payer)s RETURNING 1"


@dataclass(slots=True)
class SharedLedger:
    """One process's place among those of a payer. Thread-safe; see `joined_across`."""

    leases: Leases
    payer: str
    owner: str
    before: dict[str, Spent] = field(default_factory=dict)
    """What each of the others had spent when this one began: the store had told of it."""
    recovered: frozenset[str] = frozenset()
    """Those that were dead by then: the store had told of what they had set aside as well."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def turn(self) -> Iterator[tuple[OtherProcesses, Callable[[Spent, ReservedSpend], None]]]:
        """What the others have, and the way to say what this one has; nobody else has a turn meanwhile.

        `LeaseError` where what was said is not kept.
        """
        with self._lock, self.leases.transaction() as ask:
            ask(_TURN, payer=self.payer)
            yield self._others(ask), lambda spent, held: _write(ask, self.payer, self.owner, spent, held)

    def _others(self, ask: Ask) -> OtherProcesses:
        lines = (line for line in _lines(ask, self.payer) if line.owner != self.owner)
        return sum_of(lines, self.before, self.recovered)


@contextmanager
def joined_across(leases: Leases, payer: str, read_store: Callable[[], Spent]) -> Iterator[tuple[SharedLedger, Spent]]:
    """A place in the ledger of a payer, and what the store knows of what was spent before.

    What others book between two looks at the ledger may be counted twice then: too much, never too little.
    """
    owner = token_hex(8)
    with leases.lease(f"joining/{payer}", wait=True):
        lines = _lines(leases.ask, payer)
        if not any(line.alive for line in lines):
            leases.ask(_FORGET, payer=payer)  # what they spent is in the store by now
            lines = []
        before = {line.owner: line.spent for line in lines}
        recovered = frozenset(line.owner for line in lines if not line.alive)
        already = read_store()
        _write(leases.ask, payer, owner, Spent(), ReservedSpend())
    try:
        yield SharedLedger(leases, payer, owner, before, recovered), already
    finally:
        with suppress(LeaseError):  # it is taken for dead in its time
            leases.ask(_LEAVE, payer=payer, owner=owner)


def _lines(ask: Ask, payer: str) -> list[ProcessSpend]:
    return [
        ProcessSpend(owner, Spent(**counts["spent"]), ReservedSpend(**counts["held"]), alive)
        for owner, counts, alive in ask(_LINES, payer=payer)
    ]


def _write(ask: Ask, payer: str, owner: str, spent: Spent, held: ReservedSpend) -> None:
    ask(_WRITE, payer=payer, owner=owner, counts=json.dumps({"spent": asdict(spent), "held": asdict(held)}))
