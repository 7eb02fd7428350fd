"""docs/provider-faults.md, row by row and in every dialect: what is tried again, what is booked, whose failure it is.

The provider's own books are held against ours: nothing that it charges for is booked at less.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work
from test_transport import speaking

from tasks.adapters.llm.errors import ModelError
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.domain.llm import CallStatus
from tasks.methods.conversation import presentable
from tests.fakes.scripted_provider.script import STREAMED, Fault
from tests.fakes.scripted_provider.server import text_step

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "provider-faults.md"
DIALECTS = ("chat", "messages", "responses")
ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page."""

    tried_again: str
    booked: str
    counted: str


def table() -> dict[Fault, Row]:
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    return {Fault(name): Row(*map(str.strip, cells)) for name, *cells in rows}


TABLE = table()
EVERY = [fault for fault in Fault if fault is not Fault.NONE]
WAYS = [(fault, stream) for fault in EVERY for stream in (False, True) if stream or fault not in STREAMED]
"""Every fault where the whole reply is asked for, and where it is streamed."""


def test_the_page_has_every_fault() -> None:
    assert list(TABLE) == EVERY
    assert len(EVERY) >= 36


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("fault", "stream"), WAYS)
def test_a_fault_that_stays(bench: Benches, fault: Fault, dialect: str, stream: bool) -> None:
    made = bench(lambda _: replace(text_step("hello", prompt=1000, completion=100), fault=fault))
    assert observed(made, fault, dialect, stream) == TABLE[fault]
    assert {served.spoken.stream for served in made.provider.books} == {stream}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("fault", "stream"), [one for one in WAYS if TABLE[one[0]].tried_again == "yes"])
def test_one_that_passes_is_nobodys_failure_and_what_followed_is_paid(
    bench: Benches, fault: Fault, dialect: str, stream: bool
) -> None:
    well = text_step("hello", prompt=1000, completion=100)
    made = bench([replace(well, fault=fault), well])
    board = replace(
        speaking(made.board(wires=quick(made)), dialect, stream=stream), patience=CallRetries(attempts=ATTEMPTS)
    )
    assert board.model(MODEL, work()).complete(ask("hi")).text == "hello"
    assert {row.status for row in made.rows()} == {CallStatus.ANSWERED, *(row.status for row in made.rows()[:1])}
    assert [row.cost_usd for row in made.rows(status=CallStatus.ANSWERED)] == [pytest.approx(0.0012)]


def quick(made: Bench) -> dict[str, OpenAIWire]:
    made.wires.append(OpenAIWire(made.base_url, Secret("sk-real-key-that-nobody-may-see"), timeout_s=1))
    return {"p": made.wires[-1]}


def observed(made: Bench, fault: Fault, dialect: str, stream: bool) -> Row:
    """What comes of a call whose provider has nothing but this fault."""
    if fault is Fault.AUTH:
        made.provider.key = "another"
    board = replace(
        speaking(made.board(wires=quick(made)), dialect, stream=stream), patience=CallRetries(attempts=ATTEMPTS)
    )
    meter = Meter("sweep s", Budget(usd=1.0))
    model = board.model(MODEL, work(), meters=[meter])
    try:
        reply = presentable(model.complete(ask("hi", max_tokens=500)))
        counted = "the method's" if reply.text else "the model's: it wrote nothing"
    except ModelError as error:
        counted = f"nobody's: `{error.slug}`"
    rows, books = made.rows(), made.provider.books
    assert len(rows) == len(books)
    charged = sum((1000 * 1.0 + 100 * 2.0) / 1e6 for served in books if served.charged)
    by_rows = sum(row.estimate_usd or 0.0 if row.cost_usd is None else row.cost_usd for row in rows)
    assert meter.spent.booked_usd == pytest.approx(by_rows)
    assert fault in CHEAPER or by_rows >= charged * 0.999
    priced = {row.cost_usd is not None and row.cost_usd > 0 for row in rows}
    booked = "nothing" if by_rows == 0 else "its price" if priced == {True} else "its estimate"
    limits = {served.spoken.max_tokens for served in books}
    again = "no" if len(books) == 1 else "once, with more room" if len(limits) > 1 else "yes"
    return Row(again, booked, counted)


CHEAPER = (Fault.FILTERED, Fault.SILENT, Fault.ALL_THOUGHT, Fault.HALF_CHARACTER)
"""Replies of their own, which are shorter."""
