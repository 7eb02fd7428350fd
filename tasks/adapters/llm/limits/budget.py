"""Enforces spending limits on model calls: no call may exceed a budget.

The cost of a call is known when its reply arrives, or never if the provider reports no usage. A call therefore starts
only if its cost bound (cost_bound.py) fits into the budget next to all calls in flight. An unknown cost is recorded as
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
"""Tolerance in dollars: more than the error of floating-point sums, less than any charge."""


AGAIN_S = 0.2
"""How often a waiting call re-checks the reservations of other processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a meter; None means no limit."""

    calls: int | None = None
    usd: float | None = None
    tokens: int | None = None
    """Prompt and completion tokens together."""
    seconds: float | None = None
    """Wall time since the meter started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The spend that a meter has counted."""

    calls: int = 0
    usd: float = 0.0
    """Cost of the calls whose cost is known."""
    unpriced: int = 0
    """Number of calls whose cost is unknown."""
    estimated_usd: float = 0.0
    """Cost bound of the calls whose cost is unknown."""
    tokens: int = 0
    """Tokens; the token bound of a call if the provider did not report its usage."""

    @property
    def booked_usd(self) -> float:
        """Dollars that count against the budget."""
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
    """Cost bound of the calls in flight."""

    calls: int = 0
    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: ReservedSpend) -> ReservedSpend:
        calls, usd, tokens = self.calls + other.calls, self.usd + other.usd, self.tokens + other.tokens
        return ReservedSpend(calls=calls, usd=usd, tokens=tokens)

    def as_spent(self) -> Spent:
        """Return the reservation as spend, for calls whose outcome will never be known."""
        return Spent(calls=self.calls, unpriced=self.calls, estimated_usd=self.usd, tokens=self.tokens)

    @staticmethod
    def of(places: Iterable[Reservation]) -> ReservedSpend:
        bounds = [one.bound for one in places]
        usd = sum(bound.usd or 0.0 for bound in bounds)
        return ReservedSpend(calls=len(bounds), usd=usd, tokens=sum(bound.tokens for bound in bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherProcesses:
    """Spend and reservations of the other processes of the same payer."""

    spent: Spent = Spent()
    """Spend since this process joined."""
    held: ReservedSpend = ReservedSpend()


@dataclass(frozen=True, slots=True)
class ProcessSpend:
    """Spend and reservation of one process, as recorded in the payer's ledger."""

    owner: str
    spent: Spent
    held: ReservedSpend
    alive: bool


def sum_of(lines: Iterable[ProcessSpend], before: Mapping[str, Spent], recovered: Collection[str]) -> OtherProcesses:
    """Sum what other processes spent since `before` and what they have reserved.

    Reservations of a dead process count as spent, except for processes in `recovered`, whose rows are in the store.
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
        """Yield the spend of the other processes, and a function that publishes that of this process.

        Transactions exclude each other across processes.
        """
        ...


class SingleProcess:
    """Implementation for a single process: no other spend exists."""

    @contextmanager
    def transaction(self) -> Iterator[tuple[OtherProcesses, Publish]]:
        yield OtherProcesses(), lambda _spent, _held: None


@dataclass(slots=True)
class Reservation:
    """The reservation of one call in a meter. It books nothing before `sent`, the bound after
    it, then the actual cost."""

    bound: CostBound
    booked: Spent = field(default_factory=Spent)

    def sent(self) -> None:
        """Record that the call was sent: it may be charged even without a reply."""
        self.booked = Spent(unpriced=1, estimated_usd=self.bound.usd or 0.0, tokens=self.bound.tokens)

    def free(self) -> None:
        """Record that the provider did not charge for the call."""
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

    A call may fit into the remaining budget but not next to the calls in flight. It then waits until one of them ends,
    since most calls cost less than their bound.
    """

    name: str
    """The payer, for messages: `sweep gpt-4o`."""
    budget: Budget = field(default_factory=Budget)
    replays: bool = False
    """Whether replayed replies count. They count for a run, so that a repeated run stops at the same point. They do not
    count for a sweep, which pays nothing for them."""
    already: Spent = field(default_factory=Spent)
    """Spend of earlier processes of the same sweep."""
    shared: SharedSpend = field(default_factory=SingleProcess)
    """Spend shared with the other live processes of the sweep."""
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
        """Raise `BudgetExhausted` if a limit is reached, so that no further call is possible."""
        with self._changed, self.shared.transaction() as (others, _):
            self._fits(CostBound(tokens=0, usd=0.0), ReservedSpend(), others)

    @contextmanager
    def admitted(self, bound: CostBound) -> Iterator[Reservation]:
        """Hold a reservation for one call, waiting if needed. Raises `BudgetExhausted` if the remaining budget is too
        small."""
        place = self._place(bound)
        with self._changed:
            while not self._takes(place):
                self._changed.wait(AGAIN_S)  # other processes send no notification
        try:
            yield place
        finally:
            self._leave(place)

    @contextmanager
    def admitted_now(self, bound: CostBound) -> Iterator[Reservation | None]:
        """Hold a reservation like `admitted`, but yield None instead of waiting for a call in flight.

        A caller that holds many reservations at once must not wait.
        """
        place = self._place(bound)
        with self._changed:
            taken = self._takes(place)
        try:
            yield place if taken else None
        finally:
            self._leave(place)

    def _place(self, bound: CostBound) -> Reservation:
        """Create a reservation. Raises `UsageError` if the budget is in dollars and the call has no price."""
        if self.budget.usd is not None and bound.usd is None:
            hint = "add the price to data/prices.toml, or set a ceiling on calls or tokens instead"
            raise UsageError(f"{self.name} has a ceiling in dollars, and the model has no price for this", hint=hint)
        return Reservation(bound)

    def _leave(self, place: Reservation) -> None:
        with self._changed:
            self._drop(place)
            self._spent += place.booked
            # A failure here must not lose a reply: other processes keep counting the old reservation.
            with suppress(LeaseError), self.shared.transaction() as (_, publish):
                self._publish(publish)
            self._changed.notify_all()

    def _takes(self, place: Reservation) -> bool:
        """Register the reservation if there is budget for it now; return whether it was registered."""
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
        """Whether the call fits now. Raises `BudgetExhausted` if it cannot fit, whatever the calls in flight cost."""
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
