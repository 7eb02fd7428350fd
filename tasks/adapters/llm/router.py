"""Routes every model call of a process, made by a method or by an agent behind the gateway.

A call is replayed if its reply is stored. Otherwise it waits until no other process makes it, then for the budgets and
the provider's limits. The reply is stored before the caller gets it. Each attempt and each replay is an `llm_call` row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from threading import Lock

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.llm.base import UNSAID, Finish, Model, ModelQuestion, Options, Reply
from tasks.adapters.llm.catalogue.cost_bound import CostBound, bound_of, likely_prompt, likely_tokens
from tasks.adapters.llm.catalogue.models import ModelCard, Models
from tasks.adapters.llm.catalogue.prices import Prices
from tasks.adapters.llm.errors import (
    AccountRefused,
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ProviderFailed,
    ProviderRefused,
    ReplayMiss,
    ReplyCut,
    UnansweredInLimit,
)
from tasks.adapters.llm.limits.budget import Meter, Reservation
from tasks.adapters.llm.limits.concurrency import ConcurrencyLimit
from tasks.adapters.llm.limits.rate_limit import RateLimiter
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.llm.records.reply_cache import CallClaim, RecordedCall, ReplyCache
from tasks.adapters.llm.records.request import LimitBy, ModelRequest
from tasks.adapters.llm.records.row_maker import RowMaker, Stamp
from tasks.adapters.llm.transport.openai_http import Transport
from tasks.adapters.llm.transport.reasoning import unanswered
from tasks.domain.errors import NotFound
from tasks.domain.llm import CallStatus, LlmCall, Work

MAYBE_PAID = ("cut", "timeout", "garbage")
"""Failures after which the provider may have done the work and charged for it."""
FILTER_HINT = "the provider does not answer this content; another one may"
CUT_HINTS = {
    LimitBy.EXPERIMENT: "--param max_tokens=N with a larger N, or none: replies then have the model's own limit",
    LimitBy.CARD: "raise max_tokens in the options of the model's card, or leave it out",
    LimitBy.DIALECT: "say on the model's card how long its replies can be: output = N (docs/models.md)",
    LimitBy.AGENT: "--param max_tokens=N gives the agent more room, --param reasoning_effort=low needs less",
}
LATE_S = 10.0
"""A refusing provider responds at once. A slower server error may come from a proxy that timed out on a completed
reply, so it counts as maybe paid."""


@dataclass(slots=True)
class CallTally:
    """Counts the calls of one task during one execution. Thread-safe."""

    _calls: int = 0
    _contents: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def next(self, call_key: str) -> tuple[int, int]:
        """Return the position of a call, and the number of earlier calls with the same content."""
        with self._lock:
            self._calls += 1
            self._contents[call_key] += 1
            return self._calls - 1, self._contents[call_key] - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The work that a call belongs to, and the meters that pay for it."""

    work: Work
    meters: tuple[Meter, ...] = ()
    dialect: str = "protocol"
    run_token: str = ""
    """Public id of the run token; never the token."""
    options: Options = UNSAID
    """Options of the sweep; they override the method's."""
    step: str = ""
    """Step of the work that makes the call."""
    tally: CallTally = field(default_factory=CallTally)
    """New for each execution of the work, so that its calls get the same ids again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouter:
    """Routes all model calls of one process. Thread-safe."""

    archive: ReplyCache
    models: Models
    prices: Prices
    wires: Mapping[str, Transport]
    """Provider name → transport. A provider without a key may be missing."""
    stamp: Stamp
    rate_limiter: RateLimiter
    patience: CallRetries = field(default_factory=CallRetries)
    clock: Clock = field(default_factory=SystemClock)
    replay_only: bool = False
    """Send nothing: a call that was never recorded raises `ReplayMiss`."""
    withheld: Mapping[str, ModelError] = field(default_factory=dict, repr=False)
    """Calls that must not be sent, by content key, with the reason: no batch returned a reply for them."""
    _limiters: dict[str, ConcurrencyLimit] = field(default_factory=dict, repr=False)
    _refused: dict[str, AccountRefused] = field(default_factory=dict, repr=False)
    """Providers that refused the account in this process, by name, with the error."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def model(
        self,
        name: str,
        work: Work,
        *,
        meters: Sequence[Meter] = (),
        options: Options = UNSAID,
        roles: Mapping[str, str] | None = None,
    ) -> Model:
        """Return a model for one execution of one task. `roles` names other models for steps of the work.

        Raises `NotFound` for a name that is not in data/models.toml.
        """
        return RoutedModel(
            board=self,
            card=self.models.card(name),
            caller=Caller(work=work, meters=tuple(meters), options=options),
            roles={step: self.models.card(other) for step, other in (roles or {}).items()},
        )

    def check_key(self, name: str) -> None:
        """Raise `NotFound` if a model has no key and no stored reply to replay."""
        card = self.models.card(name)
        askable = self.replay_only or card.provider.name in self.wires
        if not askable and not self.archive.store.read(LlmCall, model=name, status=CallStatus.ANSWERED):
            raise _without_key(card)

    def call(self, request: ModelRequest, caller: Caller) -> Reply:
        """Return the reply, which is stored. Raises a `ModelError` if there is none; the rows record the reason.

        If a limit other than the model's own cuts the reply, the router retries once with a higher limit, then raises
        `ReplyCut`. An experiment's limit is raised only if hidden reasoning used all of it.
        """
        reply = self._beside_prompt(request, caller)
        roomier = self._roomier(request, reply)
        if roomier:
            try:
                reply, request = self._reply(roomier, caller), roomier
            except AccountRefused:
                raise
            except (ProviderRefused, ContextTooLong) as error:
                raise _cut(request, reply) from error
        if _is_ours(request, reply):
            raise _cut(request, reply)
        return reply

    def _beside_prompt(self, request: ModelRequest, caller: Caller) -> Reply:
        """Return the reply; retry with a lower limit if the prompt leaves no room for the model's longest reply.

        Does not retry if the prompt alone seems too long. Agents set their own limits.
        """
        card = self.models.card(request.model)
        while True:
            try:
                return self._reply(request, caller)
            except ContextTooLong:
                less = card.with_less_room(request)
                if caller.run_token or less is None or likely_prompt(request) >= (card.context or inf):
                    raise
                request = less

    def _roomier(self, request: ModelRequest, reply: Reply) -> ModelRequest | None:
        """Return the request with a higher limit if the reply was cut by a limit that may be raised; else None."""
        if not _is_ours(request, reply) or (request.limit_by is LimitBy.EXPERIMENT and not unanswered(reply)):
            return None
        return self.models.card(request.model).with_more_room(request)

    def _reply(self, request: ModelRequest, caller: Caller) -> Reply:
        card = self.models.card(request.model)
        bound = self.bound(request)
        rows = self.rows_of(request, caller, bound)
        with _admitted(caller.meters, bound, replays=True) as places:
            reply = self._known_or_paid(request, card, rows, caller)
            for place in places:
                place.answered(reply)
            return reply

    def _known_or_paid(self, request: ModelRequest, card: ModelCard, rows: RowMaker, caller: Caller) -> Reply:
        if known := self.archive.find(request.call_key):
            self.archive.settled(request.call_key)
            return self._replay(known, rows)
        if problem := self.withheld.get(request.call_key):
            raise problem
        if self.replay_only:
            hint = "record it first, with a provider"
            raise ReplayMiss(f"{request.model} was never asked this ({request.call_key})", hint=hint)
        asked = self.clock.monotonic()
        with self.archive.claim(request.call_key) as claim:
            if known := self.archive.find(request.call_key):
                return self._replay(known, rows)
            return self._pay(request, card, rows, claim, caller, asked)

    def recover(self) -> int:
        """Settle the calls that dead processes left pending; return their number. Call it once at the start."""
        return self.archive.recover()

    def close(self) -> None:
        """Close the connections to providers; the next call reopens them."""
        for wire in self.wires.values():
            wire.close()

    def bound(self, request: ModelRequest) -> CostBound:
        """Return the cost bound of a call at current prices."""
        card = self.models.card(request.model)
        return bound_of(request, card, self.prices.at(card.price_key, self.clock.now()))

    def rows_of(self, request: ModelRequest, caller: Caller, bound: CostBound) -> RowMaker:
        """Return the row maker of the caller's next call."""
        position, nth = caller.tally.next(request.call_key)
        return RowMaker(
            request=request,
            work=caller.work,
            step=caller.step or caller.work.step,
            dialect=caller.dialect,
            run_token=caller.run_token,
            position=position,
            nth=nth,
            bound=bound,
            stamp=self.stamp,
        )

    def _replay(self, known: RecordedCall, rows: RowMaker) -> Reply:
        """Return a stored reply and write a replay row, unless this very call paid for it and has its row."""
        if known.row.call_id != rows.call_id:
            self.archive.write_row(rows.replayed(known, self.clock.now()))
        return known.reply

    def _pay(
        self, request: ModelRequest, card: ModelCard, rows: RowMaker, claim: CallClaim, caller: Caller, asked: float
    ) -> Reply:
        wire = self.wire_to(card)

        def attempt(number: int) -> RecordedCall:
            """Make one paid attempt with its own reservation: after a cut reply, the budget may not allow another.

            The reservation lasts until the reply is stored. A kill before that leaves a row that books the whole cost
            bound.
            """
            with _admitted(caller.meters, rows.bound, replays=False) as places:
                exchange = self._attempt(request, card, wire, rows, claim, places, number, asked)
                claim.keep(exchange)
                return exchange

        return self.patience.persist(self.clock, attempt).reply

    def _attempt(
        self,
        request: ModelRequest,
        card: ModelCard,
        wire: Transport,
        rows: RowMaker,
        claim: CallClaim,
        places: Sequence[Reservation],
        number: int,
        asked: float,
    ) -> RecordedCall:
        limiter, limits = self._limiter(card), card.minute_limits
        # Wait before taking a slot, so that other calls can use the slot.
        limited = self.rate_limiter.wait(limits, likely_tokens(request, card))
        with limiter.slot() as held_up:
            if held_up:
                self.rate_limiter.begin(limits, limited)
            self._open(card)
            started, sent = self.clock.now(), self.clock.monotonic()
            draft = rows.under_way(started, attempt=number)
            claim.begin(draft)
            for place in places:
                place.sent()
            try:
                reply = wire.send(request, card)
            except ModelError as error:
                self._note_failure(error, card, limiter)
                took = self.clock.monotonic() - sent
                failed = rows.failed(draft, error, status=_status(error, took), seconds=took, finished=self.clock.now())
                for place in places if failed.cost_usd == 0.0 else ():
                    place.free()
                claim.failed(replace(failed, waited_s=sent - asked))
                raise
        self.rate_limiter.settle(limits, limited, reply.usage.total)
        price = self.prices.at(card.price_key, started)
        reply = replace(reply, cost_usd=price.cost(reply.usage) if price else reply.cost_usd)
        for place in places:
            place.answered(reply)
        row = rows.answered(reply, attempt=number, waited_s=sent - asked, started=started, finished=self.clock.now())
        return RecordedCall(request, reply, row)

    def _open(self, card: ModelCard) -> None:
        """Raise `AccountRefused` if the provider refused this account before. Without this, a sweep tried a dead key
        for every task."""
        name = card.provider.name
        if said := self._refused.get(name):
            raise AccountRefused(f"{name} is not asked again in this run: {said}", hint=said.hint)

    def _note_failure(self, error: ModelError, card: ModelCard, limiter: ConcurrencyLimit) -> None:
        """Pause all calls to a provider that requests it; stop calls to one that certainly refuses the account."""
        if isinstance(error, AccountRefused) and error.certain:
            self._refused[card.provider.name] = error
        if isinstance(error, ProviderFailed) and error.retry_after_s:
            seconds = min(error.retry_after_s, self.patience.longest_retry_after_s)
            limiter.pause(seconds)
            self.rate_limiter.pause(card.provider.name, seconds)

    def wire_to(self, card: ModelCard) -> Transport:
        """Return the transport to a model's provider. Raises `NotFound` if its key is missing."""
        try:
            return self.wires[card.provider.name]
        except KeyError:
            raise _without_key(card) from None

    def _limiter(self, card: ModelCard) -> ConcurrencyLimit:
        provider = card.provider
        with self._lock:
            if provider.name not in self._limiters:
                self._limiters[provider.name] = ConcurrencyLimit(
                    provider.max_in_flight, self.clock, partial(self.rate_limiter.paused_for, provider.name)
                )
            return self._limiters[provider.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedModel:
    """The `Model` protocol (base.py) for one task."""

    board: ModelRouter
    card: ModelCard
    caller: Caller
    roles: Mapping[str, ModelCard] = field(default_factory=dict)
    """Step of the work → model to use instead."""

    @property
    def name(self) -> str:
        return self.card.name

    def complete(self, question: ModelQuestion) -> Reply:
        card = self.roles.get(question.step, self.card)
        caller = replace(self.caller, step=question.step)
        reply = self.board.call(card.request(question, self.caller.options), caller)
        if reply.finish_reason is Finish.CONTENT_FILTER:
            # A filter that ends a reply with status 200 is treated like one with status 400. The reply was paid for; no
            # retry.
            raise ContentFiltered(f"the provider ended the reply of {card.name} by its filter", hint=FILTER_HINT)
        return reply


def _is_ours(request: ModelRequest, reply: Reply) -> bool:
    """Whether a limit other than the model's own cut the reply.

    A limit that an agent set for its own call counts only if the reply is empty: agents handle a cut reply, but not an
    empty one.
    """
    if reply.finish_reason is not Finish.LENGTH or request.limit_by is LimitBy.MODEL:
        return False
    return request.limit_by is not LimitBy.AGENT or unanswered(reply)


def _cut(request: ModelRequest, reply: Reply) -> ReplyCut:
    limit, hint = f"{request.max_tokens} tokens, the limit of the {request.limit_by}", CUT_HINTS[request.limit_by]
    if unanswered(reply):
        return UnansweredInLimit(f"{request.model} said nothing within {limit}", hint=hint)
    return ReplyCut(f"the reply of {request.model} was cut at {limit}", hint=hint)


def _without_key(card: ModelCard) -> NotFound:
    variable = card.provider.key_env
    if not variable:
        return NotFound(f"there is no wire to {card.provider.name} of {card.name}", hint="give it one")
    hint = f"export {variable}=…, or take another model of data/models.toml"
    return NotFound(f"{card.name} needs a key of {card.provider.name}: {variable} is not set", hint=hint)


@contextmanager
def _admitted(meters: Sequence[Meter], bound: CostBound, *, replays: bool) -> Iterator[tuple[Reservation, ...]]:
    """Hold reservations in the meters that count replays, or in those that do not."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(meter.admitted(bound)) for meter in meters if meter.replays is replays)


def _status(error: ModelError, took: float) -> CallStatus:
    if not isinstance(error, ProviderFailed):
        return CallStatus.CUT if error.maybe_paid else CallStatus.FAILED
    maybe_paid = error.maybe_paid or error.kind in MAYBE_PAID or (error.kind == "server" and took >= LATE_S)
    return CallStatus.CUT if maybe_paid else CallStatus.FAILED
