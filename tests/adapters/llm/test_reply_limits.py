"""Whose limit a reply has, and what becomes of one that it cuts: only the model's own cut is the model's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work
from test_transport import speaking

from tasks.adapters.llm.base import UNSAID, Finish, ModelQuestion, Options, Reply, Usage, user
from tasks.adapters.llm.catalogue.models import MESSAGES_LIMIT, ModelCard, Provider
from tasks.adapters.llm.errors import AccountRefused, ContextTooLong, ReplyCut, UnansweredInLimit
from tasks.adapters.llm.records.request import LimitBy, ModelRequest
from tasks.adapters.llm.router import ModelRouter
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

CARD = ModelCard(name="m", model_id="m", provider=Provider(name="p", base_url="http://127.0.0.1:9"), source="a test")
LONG = ("all of it " * 10).strip()


def request(dialect: str, output: int | None, *, agent: bool = False, **said: Options) -> ModelRequest:
    """What is sent, with the options of the question, of a sweep and of the card."""
    card = replace(CARD, dialect=dialect, output=output, options=said.get("card", UNSAID))
    question = ModelQuestion(messages=(user("hi"),), options=said.get("question", UNSAID))
    return card.request(question, said.get("sweep", UNSAID), {} if agent else None)


def limited(tokens: int) -> Options:
    return Options(max_tokens=tokens)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_a_question_has_the_models_own_limit_where_nobody_sets_one(dialect: str) -> None:
    known = request(dialect, 64_000)
    assert (known.max_tokens, known.limit_by) == (64_000, LimitBy.MODEL)
    unknown = request(dialect, None)
    needed = dialect == "messages"
    assert unknown.max_tokens == (MESSAGES_LIMIT if needed else None)
    assert unknown.limit_by == (LimitBy.DIALECT if needed else LimitBy.MODEL)


@pytest.mark.parametrize(
    ("said", "agent", "by"),
    [
        ("question", False, LimitBy.EXPERIMENT),
        ("question", True, LimitBy.AGENT),
        ("sweep", False, LimitBy.EXPERIMENT),
        ("sweep", True, LimitBy.EXPERIMENT),
        ("card", False, LimitBy.CARD),
    ],
)
def test_whose_a_limit_is(said: str, agent: bool, by: LimitBy) -> None:
    below = request("chat", 4_096, agent=agent, **{said: limited(500)})
    assert (below.max_tokens, below.limit_by) == (500, by)
    above = request("chat", 4_096, agent=agent, **{said: limited(9_000)})
    assert (above.max_tokens, above.limit_by) == (4_096, LimitBy.MODEL)


def test_whose_a_limit_is_decides_no_key() -> None:
    plain = request("chat", None, question=limited(500))
    assert replace(plain, limit_by=LimitBy.AGENT).call_key == plain.call_key
    assert "limit_by" not in plain.facts()


def test_an_agent_that_sets_no_limit_is_sent_on_as_it_asked() -> None:
    assert request("chat", 64_000, agent=True).max_tokens is None
    assert request("messages", 64_000, agent=True).max_tokens == MESSAGES_LIMIT


def writer(needed: int) -> Callable[[object], Step]:
    """A model whose reply has so many tokens, and is cut where the limit is lower."""

    def say(asked: object) -> Step:
        limit = getattr(asked, "max_tokens", None)
        made = needed if limit is None else min(limit, needed)
        cut = made < needed
        text = LONG[: len(LONG) * made // needed]
        finish = Finish.LENGTH if cut else Finish.STOP
        return Step(reply=Reply(text=text, usage=Usage(prompt=10, completion=made), finish_reason=finish))

    return say


def limits(made: Bench) -> list[int | None]:
    return [served.spoken.max_tokens for served in made.provider.books]


def with_card(made: Bench, dialect: str = "chat", **more: object) -> ModelRouter:
    return speaking(made.board(), dialect, **more)


def test_a_reply_that_the_model_itself_cuts_is_the_models(bench: Benches) -> None:
    cut = Step(reply=Reply(text="half", finish_reason=Finish.LENGTH))
    nothing = Step(reply=Reply(text="", finish_reason=Finish.LENGTH))
    made = bench([cut, nothing])
    model = made.board().model(MODEL, work())
    reply = model.complete(ask("hi"))
    assert (reply.text, reply.finish_reason) == ("half", Finish.LENGTH)
    assert model.complete(ask("think")).text == ""
    assert limits(made) == [None, None]


def test_one_that_the_cards_output_cuts_is_the_models(bench: Benches) -> None:
    made = bench(writer(9_000))
    reply = with_card(made, output=8_000).model(MODEL, work()).complete(ask("hi"))
    assert (reply.finish_reason, limits(made)) == (Finish.LENGTH, [8_000])


def test_one_that_the_experiment_cuts_is_incomplete_and_not_asked_again(bench: Benches) -> None:
    made = bench(writer(900))
    for _ in range(2):
        with pytest.raises(ReplyCut, match="cut at 500 tokens, the limit of the experiment") as cut:
            made.board().model(MODEL, work()).complete(ask("hi", max_tokens=500))
    assert not isinstance(cut.value, UnansweredInLimit)
    assert "--param max_tokens" in cut.value.hint
    assert limits(made) == [500], "the second time it is replayed"
    assert made.board().model(MODEL, work()).complete(ask("hi", max_tokens=1_000)).text == LONG


@pytest.mark.parametrize(
    ("dialect", "card", "asked"),
    [
        ("messages", {}, [MESSAGES_LIMIT, 4 * MESSAGES_LIMIT]),
        ("chat", {"options": Options(max_tokens=10_000)}, [10_000, 40_000]),
        ("chat", {"options": Options(max_tokens=10_000), "output": 36_000}, [10_000, 36_000]),
    ],
)
def test_one_that_a_limit_of_ours_cuts_is_asked_for_with_more_room(
    bench: Benches, dialect: str, card: dict[str, object], asked: list[int]
) -> None:
    made = bench(writer(35_000))
    assert with_card(made, dialect, **card).model(MODEL, work()).complete(ask("hi")).text == LONG
    assert limits(made) == asked
    assert with_card(made, dialect, **card).model(MODEL, work()).complete(ask("hi")).cached


def test_one_that_more_room_does_not_help_is_incomplete(bench: Benches) -> None:
    made = bench(writer(200_000))
    with pytest.raises(ReplyCut, match="cut at 128000 tokens, the limit of the dialect") as cut:
        with_card(made, "messages").model(MODEL, work()).complete(ask("hi"))
    assert "output = N" in cut.value.hint
    assert limits(made) == [32_000, 128_000]


def test_a_provider_that_refuses_more_room_leaves_it_incomplete(bench: Benches) -> None:
    cut = Step(reply=Reply(text="half", finish_reason=Finish.LENGTH))
    made = bench([cut, replace(text_step(""), fault=Fault.BAD_PARAMETER)])
    with pytest.raises(ReplyCut, match="cut at 32000 tokens"):
        with_card(made, "messages").model(MODEL, work()).complete(ask("hi"))


def test_an_account_that_is_refused_meanwhile_is_said(bench: Benches) -> None:
    cut = Step(reply=Reply(text="half", finish_reason=Finish.LENGTH))
    made = bench([cut, replace(text_step(""), fault=Fault.NO_CREDIT)])
    with pytest.raises(AccountRefused):
        with_card(made, "messages").model(MODEL, work()).complete(ask("hi"))


def window(tokens: int) -> Callable[[object], Step]:
    """A provider that refuses where a prompt of 1,000 tokens and the limit do not fit together."""

    def say(asked: object) -> Step:
        fits = 1_000 + (getattr(asked, "max_tokens", None) or 0) <= tokens
        return text_step("hello") if fits else replace(text_step(""), fault=Fault.CONTEXT)

    return say


def test_the_models_own_limit_is_lowered_where_it_does_not_fit_beside_the_prompt(bench: Benches) -> None:
    made = bench(window(20_000))
    model = with_card(made, output=64_000, context=20_000).model(MODEL, work())
    assert model.complete(ask("hi")).text == "hello"
    assert limits(made) == [64_000, 16_000]
    assert [row.status for row in made.rows()] == [CallStatus.FAILED, CallStatus.ANSWERED]


def test_a_prompt_that_is_too_long_by_itself_is_too_long(bench: Benches) -> None:
    made = bench(window(500))
    model = with_card(made, output=64_000, context=20_000).model(MODEL, work())
    with pytest.raises(ContextTooLong):
        model.complete(ask("hi"))
    assert limits(made) == [64_000, 16_000]
    seen = len(made.provider.books)
    with pytest.raises(ContextTooLong):
        model.complete(ask("long " * 20_000))
    assert len(made.provider.books) == seen + 1, "its bytes say that no limit would help"
    with pytest.raises(ContextTooLong):
        model.complete(ask("hi", max_tokens=30_000))
    assert len(made.provider.books) == seen + 2, "an experiment's limit stays as it is"
