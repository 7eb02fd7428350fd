"""Batches in OpenAI's way and in Anthropic's: half the price, every item with a row, and no kill pays for one twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from llm_bench import MODEL, Bench, Benches, ask, prices_in, work

from tasks.adapters.llm.batches.counter import FileBatches
from tasks.adapters.llm.batches.desk import BatchClient, PlannedCall, check_taken, foreseeing
from tasks.adapters.llm.catalogue.models import Models
from tasks.adapters.llm.catalogue.prices import Prices
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.domain.errors import UsageError
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

DIALECTS = ["chat", "responses", "messages"]


def echo(call: ClientRequest) -> Step:
    return text_step(f"a{call.messages[-1].text}", prompt=1000, completion=100)


def batching(made: Bench, dialect: str, **changes: object) -> ModelRouter:
    board = made.board(**changes)
    cards = {
        name: replace(card, dialect=dialect, provider=card.provider.model_copy(update={"batches": True}))
        for name, card in board.models.cards.items()
    }
    return replace(board, models=Models(cards))


def foreseen(board: ModelRouter, *texts: str) -> list[PlannedCall]:
    writer = foreseeing(board.model(MODEL, work()))
    for text in texts:
        writer.complete(ask(text))
    return writer.missing


def said(board: ModelRouter, text: str) -> str:
    return board.model(MODEL, work()).complete(ask(text)).text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_batch_costs_half_and_is_replayed_to_whoever_asks(bench: Benches, dialect: str) -> None:
    made = bench(echo)
    board, meter = batching(made, dialect), Meter("sweep", Budget(usd=1.0))
    made.provider.batches.looks = 3
    assert BatchClient(board).ask(foreseen(board, "one", "two", "one"), meter) == {}
    assert [said(board, text) for text in ("one", "two")] == ["aone", "atwo"]
    assert len(made.provider.books) == 2
    rows = made.rows()
    assert [(row.status, row.cost_usd, row.error) for row in rows] == [(CallStatus.ANSWERED, 0.0006, "")] * 2
    assert {row.tokens_in for row in rows} == {1000}
    assert all(row.estimate_usd and row.estimate_usd >= row.cost_usd for row in rows if row.cost_usd)
    assert (meter.spent.calls, meter.spent.booked_usd) == (2, pytest.approx(0.0012))
    assert foreseen(board, "one", "two") == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_batch_does_not_answer_is_ours_and_asked_again(bench: Benches, dialect: str) -> None:
    made = bench(lambda call: Step(fault=FAULTS.get(call.messages[-1].text, Fault.NONE), reply=echo(call).reply))
    board, meter = batching(made, dialect), Meter("sweep", Budget(usd=1.0))
    made.provider.batches.expiring = 1
    calls = foreseen(board, "late", "broken", "long", "good")
    failed = BatchClient(board).ask(calls, meter)
    assert [failed[one.request.call_key].slug if one.request.call_key in failed else "" for one in calls] == [
        "provider",
        "provider",
        "context-too-long",
        "",
    ]
    assert (
        sorted((row.status.value, row.cost_usd) for row in made.rows())
        == [("answered", 0.0006)] + [("failed", 0.0)] * 3
    )
    assert BatchClient(board).ask(calls[:1], meter) == {}
    assert said(board, "late") == "alate"
    assert meter.spent.booked_usd == pytest.approx(0.0012)


FAULTS = {"broken": Fault.SERVER, "long": Fault.CONTEXT}


@dataclass(slots=True)
class Deadly(OpenAIWire):
    """A wire at whose nth word to the provider the process is killed, before or after it was said."""

    words: int = 0
    after: bool = False

    def talk(self, method: str, path: str, dialect: str, **more: object) -> str:
        self.words -= 1
        if self.words == 0 and not self.after:
            raise KeyboardInterrupt
        heard = super(Deadly, self).talk(method, path, dialect, **more)  # type: ignore[arg-type]
        if self.words == 0:
            raise KeyboardInterrupt
        return heard


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("word", range(1, 5))
def test_a_kill_at_any_word_pays_for_nothing_twice(bench: Benches, dialect: str, after: bool, word: int) -> None:
    made = bench(echo)
    deadly = Deadly(made.base_url, made.wire().key, words=word, after=after)
    made.wires.append(deadly)
    board, meter = batching(made, dialect, wires={"p": deadly}), Meter("sweep", Budget(usd=1.0))
    try:
        BatchClient(board).ask(foreseen(board, "one", "two"), meter)
    except KeyboardInterrupt:
        assert meter.spent.estimated_usd > 0, "nobody can tell yet"
    later = batching(made, dialect)
    BatchClient(later).settle()
    if left := foreseen(later, "one", "two"):
        assert BatchClient(later).ask(left, Meter("sweep", Budget(usd=1.0))) == {}
    assert [said(later, text) for text in ("one", "two")] == ["aone", "atwo"]
    assert len(made.provider.books) == 2
    assert [row.cost_usd for row in made.rows(status=CallStatus.ANSWERED)] == [0.0006] * 2
    assert BatchClient(later).settle() == 0


def test_a_kill_between_two_writes_of_what_came_back(bench: Benches) -> None:
    """One reply is kept, the other is not: the batch is looked at again, and no row is doubled."""
    made = bench(echo)
    board = batching(made, "chat")
    desk, counter = BatchClient(board), FileBatches(made.wire(), "chat")
    calls = foreseen(board, "one", "two")
    with pytest.raises(ZeroDivisionError):
        BatchClient(replace(board, prices=Failing(board.prices, 1))).ask(calls, Meter("m", Budget()))  # type: ignore[arg-type]
    assert (len(made.rows()), desk.settle()) == (1, 1)
    assert sorted(row.cost_usd or 0 for row in made.rows()) == [0.0006] * 2
    assert (len(made.provider.books), counter.found("nobody's")) == (2, "")


class Failing:
    """Prices that fail after so many were asked for."""

    def __init__(self, real: object, after: int) -> None:
        self.real, self.after = real, after

    def at(self, *asked: object) -> object:
        self.after -= 1
        if self.after < 0:
            raise ZeroDivisionError
        at: Callable[..., object] = self.real.at  # type: ignore[attr-defined]
        return at(*asked)


def test_a_ceiling_holds_for_batches(bench: Benches) -> None:
    """Of ten calls as many are in one batch as have room at once; the others follow in what the first ones left."""
    made = bench(echo)
    board = batching(made, "chat")
    calls = foreseen(board, *map(str, range(10)))
    most = calls[0].bound.usd or 0.0
    meter = Meter("sweep", Budget(usd=3 * most))
    failed = BatchClient(board).ask(calls, meter)
    assert meter.spent.booked_usd <= 3 * most
    assert len(made.provider.batches.made) > 1
    assert {problem.slug for problem in failed.values()} <= {"budget"}
    assert len(failed) + len(made.provider.books) == 10


def test_a_call_without_an_answer_is_withheld(bench: Benches) -> None:
    made = bench(lambda call: Step(fault=Fault.SERVER))
    board = batching(made, "chat")
    failed = BatchClient(board).ask(foreseen(board, "one"), Meter("sweep", Budget()))
    with pytest.raises(type(next(iter(failed.values())))):
        said(replace(board, withheld=failed), "one")
    assert len(made.provider.books) == 1


def test_a_provider_that_takes_none(bench: Benches) -> None:
    board = bench(echo).board()
    with pytest.raises(UsageError, match="p of m-1 takes no batches"):
        check_taken(board.models.card(MODEL))


def test_what_nobody_can_price_is_in_no_batch_below_a_ceiling(bench: Benches) -> None:
    """A price that holds up to some length of the prompt is none for longer ones: they passed as if they were free."""
    made = bench([Step()])
    short = Prices(tuple(price.model_copy(update={"up_to": 1}) for price in prices_in(made.folder).entries))
    board = batching(made, "chat", prices=short)
    with pytest.raises(UsageError, match="no price for this"):
        BatchClient(board).ask(foreseen(board, "one"), Meter("sweep", Budget(usd=1.0)))
    assert not made.provider.books
