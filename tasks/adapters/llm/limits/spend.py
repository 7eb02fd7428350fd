"""What all processes of one payer have spent and reserved, so that together they exceed no budget.

A meter reads the cost of earlier processes from the store once, when it begins. Each process then writes a row with
what it has spent since it began and what it has reserved. A process is alive while it claims its name. The reservations
of a dead process count as spent, until ReplyCache.recover has written them into the store and a process begins while
no other is alive. Processes of several machines need PostgreSQL for this (`SWT_LEASES`).
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
    """The row of one process among those of its payer; made by `join_ledger`."""

    coordinator: Coordinator
    owner: str
    before: dict[str, Spent] = field(default_factory=dict)
    """Amount that each other process had spent when this one began: the store contained it."""
    recovered: frozenset[str] = frozenset()
    """Processes that were dead by then: the store contained their reservations as well."""

    @contextmanager
    def transaction(self) -> Iterator[tuple[OtherProcesses, Publish]]:
        """Yield what the others have, and a function that publishes what this one has. Raises `LeaseError` if that
        could not be stored."""
        with self.coordinator.transaction(TABLE) as table:
            others = [one for one in _processes(table) if one.owner != self.owner]
            yield (
                sum_of(others, self.before, self.recovered),
                lambda spent, held: _write(table, self.owner, spent, held),
            )


@contextmanager
def join_ledger(coordinator: Coordinator, read_store: Callable[[], Spent]) -> Iterator[tuple[SpendLedger, Spent]]:
    """Add this process to a ledger. Yields its part of it, and what was spent before according to the store.

    Calls that end between the two reads may be counted twice: the sum is too high, never too low.
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
