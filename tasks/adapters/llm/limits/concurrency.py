"""Limits the calls in flight of this process to one provider, and applies pauses that the provider requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock

from tasks.adapters.clock import Clock, SystemClock


@dataclass(slots=True)
class ConcurrencyLimit:
    """Limit of one provider in one process. Thread-safe. Several processes each need their own share.

    All processes share rate limits and pauses (rate_limit.py).
    """

    max_in_flight: int = 8
    clock: Clock = field(default_factory=SystemClock)
    shared_pause: Callable[[], float] = lambda: 0.0
    """Returns the remaining seconds of the pause that all processes share."""
    _slots: BoundedSemaphore = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _not_before: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._slots = BoundedSemaphore(self.max_in_flight)

    @contextmanager
    def slot(self) -> Iterator[float]:
        """Hold one slot while a call is in flight; yields the seconds that it waited."""
        asked = self.clock.monotonic()
        with self._slots:
            while (wait := self._paused_for()) > 0:
                self.clock.sleep(wait)
            yield self.clock.monotonic() - asked

    def pause(self, seconds: float) -> None:
        """Start no call for this many seconds, as the provider requested."""
        with self._lock:
            self._not_before = max(self._not_before, self.clock.monotonic() + seconds)

    def _paused_for(self) -> float:
        with self._lock:
            own = self._not_before - self.clock.monotonic()
        return own if own > 0 else self.shared_pause()
