"""Rate limits of a provider or of one model: requests and tokens per minute, of all processes together.

Before a call, a process writes the planned start, after all earlier calls, and an estimate of the tokens. The usage in
the reply replaces the estimate, and waiting processes re-check every second. No call overtakes another, however large
it is. If a waiting process is killed, its entry blocks others only until its planned start has passed.

Prefect's limits do not suit: sweeps also run without a server, a limit with decay cannot return tokens when a call uses
fewer, and it has no order.
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
"""Tables: a row per call of the last minute or waiting call, and a row per provider that requested a pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteLimit:
    """Rate limit of one provider or model per minute; None means no limit."""

    name: str
    requests: int | None = None
    tokens: int | None = None
    """Prompt and completion tokens together."""


class CountedCall(NamedTuple):
    """One call under its limits, or one pause."""

    start: float
    """Actual or planned start of a call, or end of a pause. Seconds since the epoch."""
    tokens: int = 0
    limits: tuple[str, ...] = ()
    written: float = 0.0
    """When `start` was computed. Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class RateLimiter:
    """Decides when calls may start. Thread-safe."""

    coordinator: Coordinator
    clock: Clock

    def wait(self, limits: Sequence[MinuteLimit], tokens: int) -> str:
        """Wait until a call of about `tokens` tokens may start. Returns its id for `begin` and `settle`."""
        call = token_hex(8)
        while limits and (wait := self._reserve(call, limits, tokens)) > 0:
            self.clock.sleep(min(wait, RECHECK_S))
        return call

    def begin(self, limits: Sequence[MinuteLimit], call: str) -> None:
        """Record that an admitted call starts now."""
        if limits:
            with self.coordinator.transaction(CALLS) as table:
                _update(table, call, start=table.now, written=table.now)

    def settle(self, limits: Sequence[MinuteLimit], call: str, tokens: int | None) -> None:
        """Replace the estimate of a call by its actual usage. None keeps the estimate.

        A failing database also keeps the estimate: the paid reply is not stored yet and must not be lost.
        """
        if limits and tokens is not None:
            with suppress(*FAILURES), self.coordinator.transaction(CALLS) as table:
                _update(table, call, tokens=tokens)

    def pause(self, provider: str, seconds: float) -> None:
        """Pause all processes for a provider, as its reply requested. If the database fails, only this process pauses
        (concurrency.py)."""
        with suppress(*FAILURES), self.coordinator.transaction(PAUSES) as table:
            end = table.now + max(seconds, _pause(table, provider))
            table.put(provider, CountedCall(end, written=table.now)._asdict())

    def paused_for(self, provider: str) -> float:
        """Return the remaining seconds of a provider's pause."""
        with suppress(*FAILURES), self.coordinator.transaction(PAUSES) as table:
            return _pause(table, provider)
        return 0.0

    def _reserve(self, call: str, limits: Sequence[MinuteLimit], tokens: int) -> float:
        """Write the earliest start of the call as known now. Returns the seconds until then."""
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
    """Whether the clock was set back after `written`. Otherwise the call would block until the clock catches up.

    Clocks of machines that share a folder may differ by some seconds.
    """
    return call.written > now + WINDOW_S


def earliest(limit: MinuteLimit, before: Sequence[CountedCall], now: float, tokens: int) -> float:
    """Return when a call may start under one limit, not before the earlier calls.

    A call larger than the whole limit starts when no other call is in its window.
    """
    start = max([now, *(line.start for line in before)])
    for line in sorted(before, key=lambda line: line.start):
        lasting = [one for one in before if one.start > start - WINDOW_S]
        many = limit.requests is not None and len(lasting) >= limit.requests
        large = limit.tokens is not None and sum(one.tokens for one in lasting) + tokens > limit.tokens
        if not lasting or not (many or large):
            break
        start = max(start, line.start + WINDOW_S)
    return start
