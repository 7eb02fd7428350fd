"""Submits calls in batches and stores replies and rows.

    <pending calls of the store>/batches/<name>.json      submitted items, until the batch is settled
    <store>/batches-under-way/<name>.json                 the same, of machines that share an object store

The order is: record the batch, submit it, record its id, wait, store every reply with its row, remove the record. The
next process settles what a killed process left before it makes other calls, so no call is paid for twice. If the
process died while submitting, the batch is searched for among the newest batches of the account.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any, TypeVar

from tasks.adapters.coordination.interface import Coordinator
from tasks.adapters.llm.base import Model, ModelQuestion, Reply
from tasks.adapters.llm.batches.counter import BatchApi, Item, Outcome, counter_of
from tasks.adapters.llm.catalogue.cost_bound import CostBound
from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.dialects.by_name import BY_NAME
from tasks.adapters.llm.errors import BudgetExhausted, ModelError, ProviderFailed
from tasks.adapters.llm.limits.budget import Meter, Reservation
from tasks.adapters.llm.records.call_rows import row_facts, row_of
from tasks.adapters.llm.records.reply_cache import PendingCalls, RecordedCall
from tasks.adapters.llm.records.request import ModelRequest, request_of
from tasks.adapters.llm.records.row_maker import RowMaker, of_reply
from tasks.adapters.llm.router import MAYBE_PAID, Caller, ModelRouter
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.domain.errors import UsageError
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.names import content_key

SHARE = 0.5
"""Batch price relative to the normal price, with both providers (https://openai.com/api/pricing,
https://docs.anthropic.com/en/docs/about-claude/pricing)."""
MOST = 10_000
"""Items per batch; OpenAI accepts 50,000, Anthropic 100,000."""
FIRST_LOOK_S, LAST_LOOK_S = 1.0, 60.0
"""First and longest pause between polls; the pause doubles."""
PATIENCE_S = 26 * 3600.0
"""Batches end within a day. A batch that has not ended is left to the next process, which polls again."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that a method will make."""

    request: ModelRequest
    row: LlmCall
    """Its row, without the columns that the reply determines."""
    bound: CostBound


@dataclass(slots=True)
class ForeseeingModel:
    """A model that records calls without making them. Returns stored replies, else an empty reply."""

    board: ModelRouter
    card: ModelCard
    caller: Caller
    missing: list[PlannedCall] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.card.name

    def complete(self, question: ModelQuestion) -> Reply:
        request = self.card.request(question, self.caller.options)
        bound = self.board.bound(request)
        bound = replace(bound, usd=None if bound.usd is None else SHARE * bound.usd)
        rows = self.board.rows_of(request, replace(self.caller, step=question.step), bound)
        if known := self.board.archive.find(request.call_key):
            return known.reply
        self.missing.append(PlannedCall(request=request, row=_unanswered(rows, self.board), bound=bound))
        return Reply(text="")


def check_taken(card: ModelCard) -> None:
    """Raise `UsageError` if the model's provider accepts no batches."""
    if not card.provider.batches:
        hint = "leave --batch out; batches = true in a provider's table says that it takes them"
        raise UsageError(f"{card.provider.name} of {card.name} takes no batches", hint=hint)


def foreseeing(model: Model) -> ForeseeingModel:
    """Return a recording model for `model`, without recorded calls."""
    board, card, caller = (getattr(model, name) for name in ("board", "card", "caller"))
    return ForeseeingModel(board, card, caller)


@dataclass(frozen=True, slots=True)
class BatchClient:
    """Submits the batches of one router."""

    board: ModelRouter

    def ask(self, calls: Sequence[PlannedCall], meter: Meter) -> Mapping[str, ModelError]:
        """Make the calls of one model, in batches as large as the budget allows.

        Returns the calls without a reply, by content key, with the error.
        """
        failed: dict[str, ModelError] = {}
        # Keeps the first call of each key.
        waiting = list({one.request.call_key: one for one in reversed(calls)}.values())[::-1]
        while waiting:
            taken, problem = self._ask_some(waiting[:MOST], meter, failed)
            waiting = waiting[taken:]
            if problem is not None:
                failed |= {one.request.call_key: problem for one in waiting}
                break
        return failed

    def settle(self) -> int:
        """Wait for batches that dead processes left pending and store their results; return their number."""
        found = 0
        for name in sorted(self._pending.keys()):
            with self._claims.claim(name, wait=False, patience_s=PATIENCE_S) as held:
                if held and (text := self._pending.read(name)):
                    found += 1
                    self._resume(json.loads(text))
        return found

    @property
    def _pending(self) -> PendingCalls:
        return self.board.archive.batches[0]

    @property
    def _claims(self) -> Coordinator:
        return self.board.archive.batches[1]

    def _ask_some(
        self, calls: Sequence[PlannedCall], meter: Meter, failed: dict[str, ModelError]
    ) -> tuple[int, ModelError | None]:
        """Return the number of calls that fit into the budget, and the error that blocks all others."""
        places: dict[str, Reservation] = {}
        with ExitStack() as stack:
            try:
                for one in calls:
                    place = stack.enter_context(meter.admitted_now(one.bound))
                    if place is None:
                        break
                    places[one.request.call_key] = place
            except BudgetExhausted as problem:
                if not places:
                    return 0, problem
            if not places:
                held = "other processes have set aside what is left"
                return 0, BudgetExhausted(held, what="usd", payer=meter.name)
            name = token_hex(8)
            with self._claims.claim(name, wait=True, patience_s=PATIENCE_S):
                try:
                    outcomes = self._made(name, calls[: len(places)], places)
                except ModelError as problem:
                    return 0, problem
            failed.update({key: outcome for key, outcome in outcomes.items() if isinstance(outcome, ModelError)})
        return len(places), None

    def _made(
        self, name: str, calls: Sequence[PlannedCall], places: Mapping[str, Reservation]
    ) -> Mapping[str, Outcome]:
        """Submit a batch and wait for it."""
        counter = self._counter(calls[0].request.model)
        kept = {"name": name, "batch_id": "", "items": [_facts(one) for one in calls]}
        self._pending.write(name, json.dumps(kept))
        for place in places.values():
            place.sent()
        items = [Item(custom_id=f"{name}-{number}", body=self._body(one.request)) for number, one in enumerate(calls)]
        try:
            kept["batch_id"] = self._handed_in(counter, name, items)
        except ModelError:
            for place in places.values():
                place.free()
            self._pending.drop(name)
            raise
        self._pending.write(name, json.dumps(kept))
        outcomes = self._settled(counter, kept)
        for key, outcome in outcomes.items():
            if isinstance(outcome, Reply):
                places[key].answered(outcome)
            else:
                places[key].free()
        return outcomes

    def _handed_in(self, counter: BatchApi, name: str, items: Sequence[Item]) -> str:
        try:
            return counter.hand_in(name, items)
        except ProviderFailed as problem:
            if problem.kind in MAYBE_PAID and (found := self._found(counter, name)):
                return found
            raise

    def _resume(self, kept: dict[str, Any]) -> None:
        counter = self._counter(kept["items"][0]["request"]["model"])
        kept["batch_id"] = kept["batch_id"] or self._found(counter, kept["name"])
        if kept["batch_id"]:
            self._settled(counter, kept)
        else:
            self._pending.drop(kept["name"])

    def _found(self, counter: BatchApi, name: str) -> str:
        return self._until(lambda: counter.found(name))

    def _settled(self, counter: BatchApi, kept: Mapping[str, Any]) -> Mapping[str, Outcome]:
        """Return the outcomes of a batch, after storing them."""
        answers = self._until(lambda: counter.look(kept["batch_id"]))
        outcomes: dict[str, Outcome] = {}
        for number, facts in enumerate(kept["items"]):
            request, row = request_of(facts["request"]), row_of(facts["row"])
            expired = ProviderFailed("the batch ended without an answer to this", kind="batch")
            outcome = answers.get(f"{kept['name']}-{number}", expired)
            outcomes[request.call_key] = self._kept(request, row, outcome, kept["name"])
        self._pending.drop(kept["name"])
        return outcomes

    def _until(self, look: Callable[[], Value | None]) -> Value:
        """Poll until `look` returns a value. A failed poll costs nothing and is repeated."""
        clock, pause, problem = self.board.clock, FIRST_LOOK_S, ProviderFailed("the batch is not over", kind="batch")
        ends = clock.monotonic() + PATIENCE_S
        while clock.monotonic() < ends:
            try:
                if (shown := look()) is not None:
                    return shown
            except ProviderFailed as said:
                problem = said
            clock.sleep(pause)
            pause = min(2 * pause, LAST_LOOK_S)
        raise problem

    def _kept(self, request: ModelRequest, row: LlmCall, outcome: Outcome, name: str) -> Outcome:
        board, now = self.board, self.board.clock.now()
        took = (now - row.started_at).total_seconds()
        if isinstance(outcome, ModelError):
            own, said = content_key("call", row.call_id, name), str(outcome).partition("\n")[0]
            kind = outcome.kind if isinstance(outcome, ProviderFailed) else outcome.slug
            facts: dict[str, Any] = {"call_id": own, "status": CallStatus.FAILED, "error": f"{kind}: {said}"}
            board.archive.write_row(replace(row, cost_usd=0.0, seconds=took, finished_at=now, **facts))
            return outcome
        price = board.prices.at(board.models.card(request.model).price_key, row.started_at)
        cost = price.cost(outcome.usage) if price else None
        reply = replace(outcome, cost_usd=None if cost is None else SHARE * cost, seconds=took)
        exchange = RecordedCall(request, reply, replace(row, finished_at=now, **of_reply(reply)))
        with board.archive.claim(request.call_key) as claim:
            known = board.archive.find(request.call_key)
            if known is None or known.row.call_id == row.call_id:
                claim.keep(exchange)
            else:  # another process made the call meanwhile; this one was paid for as well
                board.archive.write_row(replace(exchange.row, call_id=content_key("call", row.call_id, name)))
        return reply

    def _counter(self, model: str) -> BatchApi:
        card = self.board.models.card(model)
        wire = self.board.wire_to(card)
        assert isinstance(wire, OpenAIWire)
        return counter_of(wire, card.dialect)

    def _body(self, request: ModelRequest) -> Mapping[str, Any]:
        limit_name = self.board.models.card(request.model).limit_name
        body: Mapping[str, Any] = BY_NAME[request.dialect].request_body(request, limit_name=limit_name)
        return body


def _facts(one: PlannedCall) -> dict[str, Any]:
    return {"request": one.request.facts(), "row": row_facts(one.row)}


def _unanswered(rows: RowMaker, board: ModelRouter) -> LlmCall:
    now = board.clock.now()
    return rows.answered(Reply(text=""), attempt=1, waited_s=0.0, started=now, finished=now)
