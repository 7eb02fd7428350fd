"""How much is asked of one provider at a time, whoever asks: calls in flight, calls per minute, and its own pauses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock

from tasks.adapters.clock import Clock, SystemClock

WINDOW_S = 60.0


@dataclass(slots=True)
class Limiter:
    """Thread-safe; one per provider and process. With several processes, give each its share."""

    max_in_flight: int = 8
    per_minute: int | None = None
    """Null where the provider sets no such limit."""
    clock: Clock = field(default_factory=SystemClock)
    _slots: BoundedSemaphore = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _starts: deque[float] = field(default_factory=deque, init=False, repr=False)
    _not_before: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._slots = BoundedSemaphore(self.max_in_flight)

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Hold one place while a call is in flight; gives the seconds that it waited."""
        asked = self.clock.monotonic()
        with self._slots:
            while (wait := self._claim()) > 0:
                self.clock.sleep(wait)
            yield self.clock.monotonic() - asked

    def pause(self, seconds: float) -> None:
        """Nobody starts for so long: the provider asked for it."""
        with self._lock:
            self._not_before = max(self._not_before, self.clock.monotonic() + seconds)

    def _claim(self) -> float:
        """Count a start and give 0, or give the seconds after which to ask again."""
        with self._lock:
            now = self.clock.monotonic()
            while self._starts and self._starts[0] <= now - WINDOW_S:
                self._starts.popleft()
            wait = max(self._not_before - now, self._full_for(now))
            if wait <= 0:
                self._starts.append(now)
            return wait

    def _full_for(self, now: float) -> float:
        if self.per_minute is None or len(self._starts) < self.per_minute:
            return 0.0
        return self._starts[-self.per_minute] + WINDOW_S - now
