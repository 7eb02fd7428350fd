"""The book of calls in a minute for machines that work together: a table in PostgreSQL (leases.py), by its clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tasks.adapters.coordination.leases import Ask, Leases
from tasks.adapters.llm.limits.rate_limit import CountedCall, RateTransaction

_TURN = """
    SELECT extract(epoch FROM clock_timestamp())::float8
    FROM (SELECT pg_advisory_xact_lock(%(class)s + 2, 0)) AS taken
"""
_BEFORE = """
    SELECT start, tokens FROM swt_pace WHERE name = %(name)s AND place < coalesce(
        (SELECT place FROM swt_pace WHERE name = %(name)s AND call = %(call)s), 9223372036854775807
    )
"""
_WRITE = """
    INSERT INTO swt_pace (name, call, start, tokens) VALUES (%(name)s, %(call)s, %(start)s, %(tokens)s)
    ON CONFLICT (name, call) DO UPDATE SET start = excluded.start RETURNING 1
"""
_BEGIN = "UPDATE swt_pace SET start = %(now)s WHERE call = %(call)s RETURNING 1"
_SETTLE = "UPDATE swt_pace SET tokens = %(tokens)s WHERE call = %(call)s RETURNING 1"
_FORGET = "DELETE FROM swt_pace WHERE start <= %(until)s RETURNING 1"


@dataclass(frozen=True, slots=True)
class _SharedTurn:
    ask: Ask
    now: float

    def before(self, name: str, call: str) -> Sequence[CountedCall]:
        return [CountedCall(*row) for row in self.ask(_BEFORE, name=name, call=call)]

    def write(self, name: str, call: str, line: CountedCall) -> None:
        self.ask(_WRITE, name=name, call=call, start=line.start, tokens=line.tokens)

    def begin(self, call: str) -> None:
        self.ask(_BEGIN, call=call, now=self.now)

    def settle(self, call: str, tokens: int) -> None:
        self.ask(_SETTLE, call=call, tokens=tokens)

    def forget(self, until: float) -> None:
        self.ask(_FORGET, until=until)


@dataclass(frozen=True, slots=True)
class SharedBook:
    """`LeaseError` where the database does not answer."""

    leases: Leases

    @contextmanager
    def __call__(self) -> Iterator[RateTransaction]:
        with self.leases.transaction() as ask:
            ((now,),) = ask(_TURN)
            yield _SharedTurn(ask, now)
