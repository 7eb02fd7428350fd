"""Shares spend and reservations among all processes of one payer, so that together they exceed no budget.

A meter reads the cost of earlier processes from the store once, when it starts. Each process then maintains a row with
its spend since then and its reservations. A process counts as alive while it claims its name. The reservations of a
dead process count as spent. They are dropped once `ReplyCache.recover` has stored them and a process joins while no
other is alive. Processes of several machines need PostgreSQL for this (`SWT_LEASES`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from secrets import token_hex

from tasks.adapters.coordination.interface import Coordinator, Transaction
from tasks.adapters.llm.limits.budget import OtherProcesses, ProcessSpend, Publish, ReservedSpend, Spent, sum_of

TABLE = "spend"


@dataclass(frozen=True, slots=True)
class SpendLedger:
    """The row of one process in the ledger of its payer; `join_ledger` creates it."""

    coordinator: Coordinator
    owner: str
    before: dict[str, Spent] = field(default_factory=dict)
    """What each other process had spent when this one joined; the store already contained it."""
    recovered: frozenset[str] = frozenset()
    """Processes that were dead at that time; the store also contained their reservations."""

    @contextmanager
    def transaction(self) -> Iterator[tuple[OtherProcesses, Publish]]:
        """Yield the spend of the other processes, and a function that publishes that of this process.

        Raises `LeaseError` if the change could not be stored.
        """
        with self.coordinator.transaction(TABLE) as table:
            others = [one for one in _processes(table) if one.owner != self.owner]
            yield (
                sum_of(others, self.before, self.recovered),
                lambda spent, held: _write(table, self.owner, spent, held),
            )


@contextmanager
def join_ledger(coordinator: Coordinator, read_store: Callable[[], Spent]) -> Iterator[tuple[SpendLedger, Spent]]:
    """Add this process to a ledger. Yields its ledger and the earlier spend according to the store.

    Calls that end between the two reads may be counted twice: the sum may be too high, never too low.
    """
    owner = token_hex(8)
    with coordinator.claim(owner, wait=True):
        with coordinator.claim("joining", wait=True):
            with coordinator.transaction(TABLE) as table:
                found = _processes(table)
                if not any(one.alive for one in found):
                    table.delete([one.owner for one in found])  # the store contains their spend by now
                    found = []
            already = read_store()
            with coordinator.transaction(TABLE) as table:
                _write(table, owner, Spent(), ReservedSpend())
        before = {one.owner: one.spent for one in found}
        yield SpendLedger(coordinator, owner, before, frozenset(one.owner for one in found if not one.alive)), already


def _processes(table: Transaction) -> list[ProcessSpend]:
    rows = table.rows()
    alive = table.claimed(rows)
    return [
        ProcessSpend(owner, Spent(**row["spent"]), ReservedSpend(**row["held"]), owner in alive)
        for owner, row in rows.items()
    ]


def _write(table: Transaction, owner: str, spent: Spent, held: ReservedSpend) -> None:
    table.put(owner, {"spent": asdict(spent), "held": asdict(held)})
