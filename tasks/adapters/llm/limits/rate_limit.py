"""How much may be asked of a provider, or of one model, in a minute: of all processes that share the limit together.

Whoever is about to ask writes down for when, behind those who came before, and how many tokens it may come to. What it
did come to replaces that when the reply is there, and who waits looks again each second. So nobody is passed by,
however large his call is; a process that is killed while it waits has its place until that is past, and no longer.

    <cache>/pace.sqlite    a line for each call of the last minute, and for each that waits

The processes of one machine meet in that file; those of machines that work together in PostgreSQL (rate_limit_postgres.py).
Prefect's limits would not do: sweeps run without a server too, what a limit with decay has counted cannot be taken
back when a call turns out smaller, and it has no order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from tasks.adapters.clock import Clock
from tasks.domain.errors import LeaseError

WINDOW_S = 60.0
LOOK_S = 1.0
"""Who waits looks so often whether others came to less than they had written down."""
HELD = "held"
"""In place of a call in a line that is of none: that of a pause, whose start is its end, and of the last look."""
LOOKED = "last look"
"""In place of a limit in the line that says when the book was last looked at."""
PATIENCE_S = 60.0
"""For the file, while others have their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteLimit:
    """What may be asked of one provider or model in any minute; null where it has no such limit."""

    name: str
    requests: int | None = None
    tokens: int | None = None
    """Sent and made together."""


@dataclass(frozen=True, slots=True)
class CountedCall:
    """One call under one limit."""

    start: float
    """Seconds since the epoch: when it began, or is to begin."""
    tokens: int


class RateTransaction(Protocol):
    """The book, while nobody else has it."""

    @property
    def now(self) -> float:
        """Seconds since the epoch, by the clock that all go by."""
        ...

    def before(self, name: str, call: str) -> Sequence[CountedCall]:
        """Lines of a limit that were written before those of a call: all where it has none."""
        ...

    def write(self, name: str, call: str, line: CountedCall) -> None:
        """Write the line of a call; one that is there keeps its place."""
        ...

    def begin(self, call: str) -> None:
        """Say that a call begins now."""
        ...

    def settle(self, call: str, tokens: int) -> None:
        """Say what a call came to."""
        ...

    def forget(self, until: float) -> None:
        """Leave out what began before."""
        ...


RateStore = Callable[[], AbstractContextManager[RateTransaction]]


@dataclass(frozen=True, slots=True)
class RateLimiter:
    """Lets calls begin. Thread-safe."""

    book: RateStore
    clock: Clock

    def wait(self, limits: Sequence[MinuteLimit], tokens: int) -> str:
        """Return when a call of about so many tokens may begin, with its name for `came_to`."""
        call = token_hex(8)
        while limits and (wait := self._asked(call, limits, tokens)) > 0:
            self.clock.sleep(min(wait, LOOK_S))
        return call

    def begins(self, limits: Sequence[MinuteLimit], call: str) -> None:
        """Say that a call that might have begun was held up, and begins now."""
        if limits:
            with self.book() as turn:
                turn.begin(call)

    def came_to(self, limits: Sequence[MinuteLimit], call: str, tokens: int | None) -> None:
        """What a call came to; null where nobody said, and what was written down stays, as it does where the book
        cannot be had: the reply is paid for and not kept yet, and must not be lost for this."""
        if limits and tokens is not None:
            with suppress(LeaseError, sqlite3.Error), self.book() as turn:
                turn.settle(call, tokens)

    def hold(self, provider: str, seconds: float) -> None:
        """Nobody asks a provider for so long: it said so to one of its callers. Where the book cannot be had, the one
        who was told keeps to it alone (concurrency.py)."""
        with suppress(LeaseError, sqlite3.Error), self.book() as turn:
            held = [line.start for line in turn.before(_pause_of(provider), "")]
            turn.write(_pause_of(provider), HELD, CountedCall(max([turn.now + seconds, *held]), 0))

    def held_for(self, provider: str) -> float:
        """Seconds for which a provider is not to be asked."""
        with suppress(LeaseError, sqlite3.Error), self.book() as turn:
            return max([0.0, *(line.start - turn.now for line in turn.before(_pause_of(provider), ""))])
        return 0.0

    def _asked(self, call: str, limits: Sequence[MinuteLimit], tokens: int) -> float:
        """Seconds until the call may begin, by what is in the book now; its lines say the same."""
        with self.book() as turn:
            turn.forget(turn.now - WINDOW_S)
            starts = [earliest(limit, turn.before(limit.name, call), turn.now, tokens) for limit in limits]
            for limit in limits:
                turn.write(limit.name, call, CountedCall(max(starts), tokens))
            return max(starts) - turn.now


def _pause_of(provider: str) -> str:
    return f"pause of {provider}"


def earliest(limit: MinuteLimit, before: Sequence[CountedCall], now: float, tokens: int) -> float:
    """When a call may begin under one limit: not before those that came before it. One that is larger than the whole
    limit begins when it is alone."""
    start = max([now, *(line.start for line in before)])
    for line in sorted(before, key=lambda line: line.start):
        lasting = [one for one in before if one.start > start - WINDOW_S]
        many = limit.requests is not None and len(lasting) >= limit.requests
        large = limit.tokens is not None and sum(one.tokens for one in lasting) + tokens > limit.tokens
        if not lasting or not (many or large):
            break
        start = max(start, line.start + WINDOW_S)
    return start


@dataclass(frozen=True, slots=True)
class _LocalTurn:
    connection: sqlite3.Connection
    now: float

    def check_clock(self) -> None:
        """Leave out everything where the clock was set back: it would be waited for until the clock is there again."""
        last = max([self.now, *(line.start for line in self.before(LOOKED, ""))])
        if last > self.now + WINDOW_S:
            self.connection.execute("DELETE FROM asked")
            last = self.now
        self.write(LOOKED, HELD, CountedCall(last, 0))

    def before(self, name: str, call: str) -> Sequence[CountedCall]:
        asked = """
            SELECT start, tokens FROM asked WHERE name = ?1
            AND place < coalesce((SELECT place FROM asked WHERE name = ?1 AND call = ?2), 9e18)
        """
        return [CountedCall(*row) for row in self.connection.execute(asked, (name, call))]

    def write(self, name: str, call: str, line: CountedCall) -> None:
        said = """
            INSERT INTO asked (name, call, start, tokens) VALUES (?, ?, ?, ?)
            ON CONFLICT (name, call) DO UPDATE SET start = excluded.start
        """
        self.connection.execute(said, (name, call, line.start, line.tokens))

    def begin(self, call: str) -> None:
        self.connection.execute("UPDATE asked SET start = ? WHERE call = ?", (self.now, call))

    def settle(self, call: str, tokens: int) -> None:
        self.connection.execute("UPDATE asked SET tokens = ? WHERE call = ?", (tokens, call))

    def forget(self, until: float) -> None:
        self.connection.execute("DELETE FROM asked WHERE start <= ?", (until,))


@dataclass(frozen=True, slots=True)
class LocalBook:
    """The book of one machine."""

    path: Path
    clock: Clock

    @contextmanager
    def __call__(self) -> Iterator[RateTransaction]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a power cut ends all calls, and what they had written
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS asked (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, call TEXT, "
                "start REAL, tokens INTEGER, UNIQUE (name, call))"
            )
            turn = _LocalTurn(connection, self.clock.now().timestamp())
            turn.check_clock()
            yield turn
            connection.execute("COMMIT")
