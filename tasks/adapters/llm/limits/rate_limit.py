"""Rate limits of a provider or of one model: requests and tokens per minute, of all processes together.

Before a call, a process writes when the call will start, behind the calls that came before, and how many tokens it may
use. The usage in the reply replaces that estimate, and waiting processes re-check every second. So no call overtakes
another, however large that is. A process that is killed while it waits blocks its place until that is past, and no
longer.

Prefect's limits would not do: sweeps run without a server too, a limit with decay cannot take back tokens when a call
turns out smaller, and it has no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat, takewhile
from secrets import token_hex
from typing import NamedTuple

from tasks.adapters.clock import Clock
from tasks.adapters.coordination.interface import FAILURES, Coordinator, Transaction

WINDOW_S = 60.0
RECHECK_S = 1.0
"""How often a waiting call re-checks whether earlier calls used fewer tokens than they reserved."""
CALLS, PAUSES = "calls", "pauses"
"""Tables: a row for each call of the last minute and each that waits, and one for each provider that asked to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteLimit:
    """What may be asked of one provider or model in any minute. None where it has no such limit."""

    name: str
    requests: int | None = None
    tokens: int | None = None
    """Sent and received together."""


class CountedCall(NamedTuple):
    """One call under its limits, or one pause."""

    start: float
    """When it began or is to begin, or when a pause ends. Seconds since the epoch."""
    tokens: int = 0
    limits: tuple[str, ...] = ()
    written: float = 0.0
    """When `start` was decided. Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class RateLimiter:
    """Lets calls begin. Thread-safe."""

    coordinator: Coordinator
    clock: Clock

    def wait(self, limits: Sequence[MinuteLimit], tokens: int) -> str:
        """Return when a call of about so many tokens may begin. The result names it for `begin` and `settle`."""
        call = token_hex(8)
        while limits and (wait := self._reserve(call, limits, tokens)) > 0:
            self.clock.sleep(min(wait, RECHECK_S))
        return call

    def begin(self, limits: Sequence[MinuteLimit], call: str) -> None:
        """Record that a call which was allowed earlier begins now."""
        if limits:
            with self.coordinator.transaction(CALLS) as table:
                _update(table, call, start=table.now, written=table.now)

    def settle(self, limits: Sequence[MinuteLimit], call: str, tokens: int | None) -> None:
        """Replace the estimate of a call by its usage. None keeps the estimate.

        So does a database that fails: the reply is paid for but not stored yet, and must not be lost for this.
        """
        if limits and tokens is not None:
            with suppress(*FAILURES), self.coordinator.transaction(CALLS) as table:
                _update(table, call, tokens=tokens)

    def pause(self, provider: str, seconds: float) -> None:
        """Let no process ask a provider for so long, as its reply to one of them demands. If the database fails, only
        this process pauses (concurrency.py)."""
        with suppress(*FAILURES), self.coordinator.transaction(PAUSES) as table:
            end = table.now + max(seconds, _pause(table, provider))
            table.put(provider, CountedCall(end, written=table.now)._asdict())

    def paused_for(self, provider: str) -> float:
        """Return the seconds for which a provider must not be asked."""
        with suppress(*FAILURES), self.coordinator.transaction(PAUSES) as table:
            return _pause(table, provider)
        return 0.0

    def _reserve(self, call: str, limits: Sequence[MinuteLimit], tokens: int) -> float:
        """Write when the call may begin, as far as known now. Returns the seconds until then."""
        with self.coordinator.transaction(CALLS) as table:
            now, found = table.now, {key: CountedCall(**row) for key, row in table.rows().items()}
            calls = {key: one for key, one in found.items() if one.start > now - WINDOW_S and not _outdated(one, now)}
            if len(calls) < len(found):
                table.delete(found.keys() - calls.keys())
            earlier = [calls[key] for key in takewhile(lambda key: key != call, calls)]
            under = [[one for one in earlier if limit.name in one.limits] for limit in limits]
            start = max(map(earliest, limits, under, repeat(now), repeat(tokens)))
            table.put(call, CountedCall(start, tokens, tuple(limit.name for limit in limits), now)._asdict())
            return start - now


def _update(table: Transaction, call: str, **changes: float) -> None:
    if row := table.get(call):
        table.put(call, {**row, **changes})


def _pause(table: Transaction, provider: str) -> float:
    pause = CountedCall(**(table.get(provider) or {"start": 0.0}))
    return 0.0 if _outdated(pause, table.now) else max(0.0, pause.start - table.now)


def _outdated(call: CountedCall, now: float) -> bool:
    """Whether the clock was set back since: the call would be waited for until the clock is there again. Clocks of
    machines that share a folder may be some seconds apart."""
    return call.written > now + WINDOW_S


def earliest(limit: MinuteLimit, before: Sequence[CountedCall], now: float, tokens: int) -> float:
    """Return when a call may begin under one limit: not before those that came before it. A call that is larger than
    the whole limit begins when it is alone."""
    start = max([now, *(line.start for line in before)])
    for line in sorted(before, key=lambda line: line.start):
        lasting = [one for one in before if one.start > start - WINDOW_S]
        many = limit.requests is not None and len(lasting) >= limit.requests
        large = limit.tokens is not None and sum(one.tokens for one in lasting) + tokens > limit.tokens
        if not lasting or not (many or large):
            break
        start = max(start, line.start + WINDOW_S)
    return start
