"""Ceilings on what is spent, and the meter that keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.domain.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Null is no ceiling."""

    calls: int | None = None
    usd: float | None = None
    tokens: int | None = None
    """Sent and made together."""
    seconds: float | None = None
    """Wall time since the meter began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a meter has counted."""

    calls: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose cost is unknown; `usd` does not hold them."""
    tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            usd=self.usd + other.usd,
            unpriced=self.unpriced + other.unpriced,
            tokens=self.tokens + other.tokens,
        )


def spent_on(reply: Reply) -> Spent:
    """What one reply counts."""
    return Spent(
        calls=1,
        usd=reply.cost_usd or 0.0,
        unpriced=int(reply.cost_usd is None),
        tokens=(reply.usage.prompt or 0) + (reply.usage.completion or 0),
    )


@dataclass(slots=True)
class Meter:
    """Counts calls against a budget. Thread-safe.

    The ceiling on calls is exact. Dollars and tokens are known only when a reply is there, so they can be passed by
    what is in flight at that moment, and by the last call itself.
    """

    name: str
    """What the budget belongs to, for messages: `sweep gpt-4o`."""
    budget: Budget = field(default_factory=Budget)
    replays: bool = False
    """Whether replayed replies count. They do for a run, so that it ends where it ended the first time; they do not
    for a sweep, which pays nothing for them."""
    already: Spent = field(default_factory=Spent)
    """Spent by earlier processes of the same sweep."""
    clock: Clock = field(default_factory=SystemClock)
    _spent: Spent = field(init=False)
    _in_flight: int = field(default=0, init=False)
    _began: float = field(init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._spent = self.already
        self._began = self.clock.monotonic()

    @property
    def spent(self) -> Spent:
        with self._lock:
            return self._spent

    @contextmanager
    def admitted(self, *, priced: bool) -> Iterator[None]:
        """A place for one call; `BudgetExhausted` where there is none left."""
        with self._lock:
            self._check(priced)
            self._in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def count(self, reply: Reply) -> None:
        """Add what a reply cost, unless it was replayed and replays are free here."""
        if reply.cached and not self.replays:
            return
        with self._lock:
            self._spent += spent_on(reply)

    def _check(self, priced: bool) -> None:
        budget, spent = self.budget, self._spent
        if budget.usd is not None and not priced:
            hint = "add the price to data/prices.toml, or set a ceiling on calls or tokens instead"
            raise UsageError(f"{self.name} has a ceiling in dollars, and the model has no price", hint=hint)
        self._ceiling("calls", budget.calls, spent.calls + self._in_flight)
        self._ceiling("usd", budget.usd, spent.usd)
        self._ceiling("tokens", budget.tokens, spent.tokens)
        self._ceiling("seconds", budget.seconds, self.clock.monotonic() - self._began)

    def _ceiling(self, what: str, ceiling: float | None, used: float) -> None:
        if ceiling is not None and used >= ceiling:
            hint = "what was done is kept; run it again with a larger budget to go on"
            raise BudgetExhausted(f"{self.name} has used {used:g} of {ceiling:g} {what}", what=what, hint=hint)
