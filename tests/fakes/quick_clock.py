"""A clock whose sleeps take no time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class QuickClock:
    """Sleeping takes no time but is counted; a look at the clock takes a second."""

    moment: datetime = datetime(2026, 11, 1, tzinfo=UTC)
    slept: list[float] = field(default_factory=list)
    """Seconds of each sleep."""

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def monotonic(self) -> float:
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += timedelta(seconds=seconds)
