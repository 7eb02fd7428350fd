"""Ceilings on what is spent, and the meter that keeps them: nothing passes one.

What a call costs is known when its reply is there, and where the provider is silent, never. So a call starts only
if its upper bound (cost_bound.py) fits into what is left beside all calls in flight. An unknown cost is booked at
that bound. Without this, `--budget-usd 0.001` let ten of ten calls through an endpoint that reports no usage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition
from typing import Protocol

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.errors import BudgetExhausted
from tasks.domain.errors import LeaseError, UsageError

ROUNDING = 1e-9
"""Dollars. Sums of floating-point numbers differ by less, and a ceiling by nothing that anybody is charged."""


AGAIN_S = 0.2
"""How often a call that waits for room looks at what other processes have."""


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
    """Of the calls whose cost is known."""
    unpriced: int = 0
    """Calls whose cost is unknown."""
    estimated_usd: float = 0.0
    """What these are booked at: the most that they can have cost."""
    tokens: int = 0
    """The most that they can have been, where the provider did not say."""

    @property
    def booked_usd(self) -> float:
        """What counts against a ceiling."""
        return self.usd + self.estimated_usd

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            usd=self.usd + other.usd,
            unpriced=self.unpriced + other.unpriced,
            estimated_usd=self.estimated_usd + other.estimated_usd,
            tokens=self.tokens + other.tokens,
        )

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls - other.calls,
            usd=self.usd - other.usd,
            unpriced=self.unpriced - other.unpriced,
            estimated_usd=self.estimated_usd - other.estimated_usd,
            tokens=self.tokens - other.tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedSpend:
    """What is set aside for calls in flight."""

    calls: int = 0
    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: ReservedSpend) -> ReservedSpend:
        calls, usd, tokens = self.calls + other.calls, self.usd + other.usd, self.tokens + other.tokens
        return ReservedSpend(calls=calls, usd=usd, tokens=tokens)

    def as_spent(self) -> Spent:
        """Where nobody will ever hear of these calls again."""
        return Spent(calls=self.calls, unpriced=self.calls, estimated_usd=self.usd, tokens=self.tokens)

    @staticmethod
    def of(places: Iterable[Reservation]) -> ReservedSpend:
        bounds = [one.bound for one in places]
        usd = sum(bound.usd or 0.0 for bound in bounds)
        return ReservedSpend(calls=len(bounds), usd=usd, tokens=sum(bound.tokens for bound in bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherProcesses:
    """What other processes of the same payer have."""

    spent: Spent = Spent()
    """Since this one began."""
    held: ReservedSpend = ReservedSpend()


@dataclass(frozen=True, slots=True)
class ProcessSpend:
    """What one process has, by the ledger of its payer."""

    owner: str
    spent: Spent
    held: ReservedSpend
    alive: bool


def sum_of(lines: Iterable[ProcessSpend], before: Mapping[str, Spent], recovered: Collection[str]) -> OtherProcesses:
    """What other processes have: what each has spent since `before`, and what it has set aside.

    Of a dead one that counts as spent, unless it is among those `recovered`, of which the store tells.
    """
    spent, held = Spent(), ReservedSpend()
    for line in lines:
        spent += line.spent - before.get(line.owner, Spent())
        if line.alive:
            held += line.held
        elif line.owner not in recovered:
            spent += line.held.as_spent()
    return OtherProcesses(spent=spent, held=held)


Publish = Callable[[Spent, ReservedSpend], None]


class SharedSpend(Protocol):
    """The spend of all processes of a payer; see spend.py."""

    def transaction(self) -> AbstractContextManager[tuple[OtherProcesses, Publish]]:
        """Yield what the others have, and a function that publishes what this process has. No other process has a
        transaction meanwhile."""
        ...


class SingleProcess:
    """There is no other process."""

    @contextmanager
    def transaction(self) -> Iterator[tuple[OtherProcesses, Publish]]:
        yield OtherProcesses(), lambda _spent, _held: None


@dataclass(slots=True)
class Reservation:
    """One call's place in a meter. Nothing is booked before it is `sent`, and what it came to afterwards."""

    bound: CostBound
    booked: Spent = field(default_factory=Spent)

    def sent(self) -> None:
        """From here on it may have to be paid for, whether an answer comes or not."""
        self.booked = Spent(unpriced=1, estimated_usd=self.bound.usd or 0.0, tokens=self.bound.tokens)

    def free(self) -> None:
        """The provider took nothing for it."""
        self.booked = Spent()

    def answered(self, reply: Reply) -> None:
        usage, unknown = reply.usage, reply.cost_usd is None
        counted = None if usage.prompt is None or usage.completion is None else usage.prompt + usage.completion
        self.booked = Spent(
            calls=1,
            usd=reply.cost_usd or 0.0,
            unpriced=int(unknown),
            estimated_usd=(self.bound.usd or 0.0) if unknown else 0.0,
            tokens=self.bound.tokens if counted is None else counted,
        )


@dataclass(slots=True)
class Meter:
    """Counts calls against a budget. Thread-safe.

    A call that fits into what is left, but not beside those in flight, waits until one of them is over: they mostly
    come to less than what is set aside for them.
    """

    name: str
    """What the budget belongs to, for messages: `sweep gpt-4o`."""
    budget: Budget = field(default_factory=Budget)
    replays: bool = False
    """Whether replayed replies count. They do for a run, so that it ends where it ended the first time; they do not
    for a sweep, which pays nothing for them."""
    already: Spent = field(default_factory=Spent)
    """Spent by earlier processes of the same sweep."""
    shared: SharedSpend = field(default_factory=SingleProcess)
    """With its other processes that are alive."""
    clock: Clock = field(default_factory=SystemClock)
    _spent: Spent = field(init=False)
    _in_flight: list[Reservation] = field(default_factory=list, init=False, repr=False)
    _began: float = field(init=False)
    _changed: Condition = field(default_factory=Condition, init=False, repr=False)

    def __post_init__(self) -> None:
        self._spent = self.already
        self._began = self.clock.monotonic()

    @property
    def spent(self) -> Spent:
        with self._changed:
            return self._spent

    def check(self) -> None:
        """`BudgetExhausted` where a ceiling is reached, so that no call at all is left."""
        with self._changed, self.shared.transaction() as (others, _):
            self._fits(CostBound(tokens=0, usd=0.0), ReservedSpend(), others)

    @contextmanager
    def admitted(self, bound: CostBound) -> Iterator[Reservation]:
        """A place for one call; `BudgetExhausted` where it does not fit into what is left."""
        place = self._place(bound)
        with self._changed:
            while not self._takes(place):
                self._changed.wait(AGAIN_S)  # other processes notify nobody
        try:
            yield place
        finally:
            self._leave(place)

    @contextmanager
    def admitted_now(self, bound: CostBound) -> Iterator[Reservation | None]:
        """A place as from `admitted`; null where there is none before a call in flight is over. Who holds many places
        at once must not wait for room."""
        place = self._place(bound)
        with self._changed:
            taken = self._takes(place)
        try:
            yield place if taken else None
        finally:
            self._leave(place)

    def _place(self, bound: CostBound) -> Reservation:
        """`UsageError` where nobody knows what the call may cost, and that may not be more than so much."""
        if self.budget.usd is not None and bound.usd is None:
            hint = "add the price to data/prices.toml, or set a ceiling on calls or tokens instead"
            raise UsageError(f"{self.name} has a ceiling in dollars, and the model has no price for this", hint=hint)
        return Reservation(bound)

    def _leave(self, place: Reservation) -> None:
        with self._changed:
            self._drop(place)
            self._spent += place.booked
            # A reply must not be lost for this: others go on counting what was set aside.
            with suppress(LeaseError), self.shared.transaction() as (_, publish):
                self._publish(publish)
            self._changed.notify_all()

    def _takes(self, place: Reservation) -> bool:
        """Take the place if there is room for it now."""
        try:
            with self.shared.transaction() as (others, publish):
                fits = self._fits(place.bound, ReservedSpend.of(self._in_flight), others)
                if fits:
                    self._in_flight.append(place)
                    self._publish(publish)
        except LeaseError:
            self._drop(place)
            raise
        return fits

    def _drop(self, place: Reservation) -> None:
        self._in_flight = [one for one in self._in_flight if one is not place]

    def _publish(self, publish: Publish) -> None:
        publish(self._spent - self.already, ReservedSpend.of(self._in_flight))

    def _fits(self, bound: CostBound, own: ReservedSpend, others: OtherProcesses) -> bool:
        """Whether there is room now; `BudgetExhausted` where there will be none, whatever those in flight come to."""
        budget, spent, held = self.budget, self._spent + others.spent, own + others.held
        return all(
            [
                self._below("calls", budget.calls, spent.calls, held.calls, 1),
                self._below("usd", budget.usd, spent.booked_usd, held.usd, bound.usd or 0.0),
                self._below("tokens", budget.tokens, spent.tokens, held.tokens, bound.tokens),
                self._below("seconds", budget.seconds, self.clock.monotonic() - self._began, 0.0, 0.0),
            ]
        )

    def _below(self, what: str, ceiling: float | None, used: float, held: float, need: float) -> bool:
        if ceiling is None:
            return True
        if used >= ceiling or used + need > ceiling + ROUNDING:
            hint = "what was done is kept; run it again with a larger budget to go on"
            more = f", and the next call may take {need:g}" if used < ceiling else ""
            said = f"{self.name} has used {used:g} of {ceiling:g} {what}{more}"
            raise BudgetExhausted(said, what=what, payer=self.name, hint=hint)
        return used + held + need <= ceiling + ROUNDING
