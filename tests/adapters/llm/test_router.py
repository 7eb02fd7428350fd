"""Calls through the switchboard: paid once, kept, replayed, retried by class, and told as rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace

import pytest
from llm_bench import KEY, MODEL, Benches, TestClock, ask, work

from tasks.adapters.llm.base import Finish, ModelQuestion, Options, Reply, ToolSpec, Usage, tool_result
from tasks.adapters.llm.catalogue.models import Models
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.llm.errors import (
    AccountRefused,
    BudgetExhausted,
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ProviderFailed,
    ProviderRefused,
    ReplayMiss,
    UnansweredInLimit,
)
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.adapters.llm.transport.provider_errors import complaint
from tasks.domain.errors import NotFound, UsageError
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_model import calling
from tests.fakes.scripted_provider.script import ACCOUNT, ACCOUNT_BY_TEXT, Fault, Step
from tests.fakes.scripted_provider.server import text_step


def test_a_call_is_paid_once_and_replayed_for_ever(bench: Benches) -> None:
    made = bench([text_step("hello", prompt=1000, completion=100)])
    first = made.board().model(MODEL, work()).complete(ask("hi"))
    again = made.board().model(MODEL, work()).complete(ask("hi"))
    assert (first.text, first.cached, first.cost_usd) == ("hello", False, pytest.approx(0.0012))
    assert (again.text, again.cached, again.cost_usd) == ("hello", True, first.cost_usd)
    assert len(made.provider.books) == 1
    [row] = made.rows()
    assert (row.status, row.tokens_in, row.tokens_out, row.attempt) == (CallStatus.ANSWERED, 1000, 100, 1)


def test_other_work_that_asks_the_same_gets_a_row_that_is_not_paid(bench: Benches) -> None:
    made = bench([text_step("hello", prompt=10, completion=1)])
    for method in ("zero_shot", "libro", "libro"):
        made.board().model(MODEL, work(method)).complete(ask("hi"))
    assert sorted((row.method, row.status) for row in made.rows()) == [
        ("libro", CallStatus.REPLAYED),
        ("zero_shot", CallStatus.ANSWERED),
    ]
    assert len({row.cost_usd for row in made.rows()}) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"options": Options(temperature=0.7)},
        {"options": Options(temperature=0.0, seed=1)},
        {"options": Options(temperature=0.0, reasoning_effort="low")},
        {"options": Options(temperature=0.0, stop=("END",))},
        {"sample": 1},
        {"options": Options(temperature=0.0, max_tokens=5)},
        {"tools": (ToolSpec(name="t", description="", parameters={}),)},
    ],
    ids=str,
)
def test_whatever_is_sent_is_part_of_the_key(bench: Benches, changed: dict[str, object]) -> None:
    made = bench([text_step("one"), text_step("two")])
    model = made.board().model(MODEL, work())
    assert model.complete(ask("hi")).text == "one"
    assert model.complete(replace(ask("hi"), **changed)).text == "two"  # type: ignore[arg-type]


def test_what_is_sent(bench: Benches) -> None:
    made = bench([text_step("one"), text_step("two")])
    board = made.board()
    board.model(MODEL, work()).complete(ask("hi", seed=3, max_tokens=7))
    board.model("fixed", work()).complete(ask("hi", max_tokens=7))
    plain, fixed = (served.spoken for served in made.provider.books)
    assert (plain.model, plain.temperature, plain.seed, plain.max_tokens) == ("vendor/m-1", 0.0, 3, 7)
    assert (fixed.model, fixed.temperature, fixed.max_tokens) == ("fixed", None, 7)
    assert {row.model: row.temperature for row in made.rows()} == {MODEL: 0.0, "fixed": None}
    assert {row.model: row.cost_usd is None for row in made.rows()} == {MODEL: False, "fixed": True}
    assert not [name for name in made.provider.books[0].headers if name.startswith(("openai-org", "openai-project"))]


def test_tool_calls_go_there_and_back(bench: Benches) -> None:
    said = calling("bash", command="ls")
    made = bench([Step(reply=said), text_step("done")])
    model = made.board().model(MODEL, work())
    tool = ToolSpec(name="bash", description="a shell", parameters={"type": "object"})
    reply = model.complete(replace(ask("hi"), tools=(tool,)))
    assert (reply.tool_calls, reply.finish_reason) == (said.tool_calls, "tool_calls")
    so_far = (*ask("hi").messages, reply.message, tool_result(reply.tool_calls[0], "a.py"))
    model.complete(ModelQuestion(messages=so_far, tools=(tool,)))
    heard = made.provider.books[1].spoken
    assert heard.messages[1].tool_calls == said.tool_calls
    assert (heard.messages[2].text, heard.messages[2].tool_call_id) == ("a.py", "call_1")
    assert heard.tools == (tool,)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault.RATE_LIMIT, CallStatus.FAILED),
        (Fault.SERVER, CallStatus.FAILED),
        (Fault.OVERLOADED, CallStatus.FAILED),
        (Fault.HANG_UP, CallStatus.CUT),
        (Fault.CUT, CallStatus.CUT),
        (Fault.GARBAGE, CallStatus.CUT),
        (Fault.HTML, CallStatus.CUT),
    ],
)
def test_what_may_pass_is_tried_again(bench: Benches, fault: Fault, status: CallStatus) -> None:
    made = bench([Step(fault=fault), Step(fault=fault), text_step("hello")])
    assert made.board().model(MODEL, work()).complete(ask("hi")).text == "hello"
    assert [(row.status, row.attempt) for row in made.rows()] == [(status, 1), (status, 2), (CallStatus.ANSWERED, 3)]
    assert [row.cost_usd for row in made.rows(status=status)] == [0.0 if status is CallStatus.FAILED else None] * 2
    assert len(made.clock.slept) == 2


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.CONTEXT, ContextTooLong),
        (Fault.FILTER, ContentFiltered),
        (Fault.MODERATED, ContentFiltered),
        (Fault.EXHAUSTED, ProviderRefused),
    ],
)
def test_what_cannot_pass_is_not_tried_again(bench: Benches, fault: Fault, kind: type[ModelError]) -> None:
    made = bench([Step(fault=fault), text_step("hello")])
    with pytest.raises(kind) as caught:
        made.board().model(MODEL, work()).complete(ask("hi"))
    assert not caught.value.retry
    [row] = made.rows()
    assert (row.status, row.error.partition(":")[0], row.cost_usd) == (CallStatus.FAILED, kind.slug, 0.0)


@pytest.mark.parametrize("fault", ACCOUNT)
def test_a_dead_key_or_an_empty_account_is_asked_once(bench: Benches, fault: Fault) -> None:
    made = bench([text_step("a"), Step(fault=fault), text_step("b")])
    board = made.board()
    assert board.model(MODEL, work()).complete(ask("known")).text == "a"
    for method in ("one", "two", "three"):
        with pytest.raises(AccountRefused) as caught:
            board.model(MODEL, work(method)).complete(ask(method))
        assert not caught.value.retry
    assert len(made.provider.books) == 2
    assert "p is not asked again in this run" in str(caught.value)
    assert board.model(MODEL, work("other")).complete(ask("known")).cached  # what is known needs no account
    [failed] = made.rows(status=CallStatus.FAILED)
    assert (failed.error.partition(":")[0], failed.cost_usd) == ("provider-account", 0.0)
    assert made.board().model(MODEL, work("two")).complete(ask("two")).text == "b"  # the next run tries again


@pytest.mark.parametrize("fault", ACCOUNT_BY_TEXT)
def test_what_only_a_text_says_of_an_account_is_of_one_call(bench: Benches, fault: Fault) -> None:
    made = bench([Step(fault=fault), text_step("b")])
    board = made.board()
    with pytest.raises(AccountRefused):
        board.model(MODEL, work("one")).complete(ask("one"))
    assert board.model(MODEL, work("two")).complete(ask("two")).text == "b"


@pytest.mark.parametrize(
    "words",
    [
        "invalid api key",
        "API key not valid. API key expired",
        "insufficient_quota: insufficient credits, insufficient balance",
        "Your credit balance is too low to access the API",
        "billing_not_active billing_hard_limit_reached",
        "model not found: model_not_found, authentication_error 401 permission_error",
        "flagged by moderation: content_filter content_policy_violation",
        "context_length_exceeded: maximum context length, prompt is too long",
        '{"error": {"code": "insufficient_quota", "type": "authentication_error"}}',
    ],
)
def test_words_of_one_call_that_a_provider_repeats_stop_no_other_call(bench: Benches, words: str) -> None:
    made = bench([Step(fault=Fault.ECHO), text_step("b")])
    board = made.board()
    with pytest.raises(ModelError):
        board.model(MODEL, work("one")).complete(ask(words))
    assert board.model(MODEL, work("two")).complete(ask("two")).text == "b"
    assert len(made.provider.books) == 2


def test_a_page_with_403_is_of_one_call(bench: Benches) -> None:
    """A firewall says it to one text, and has no code."""
    error = complaint(403, {"message": "<html>Forbidden</html>"}, Secret("k" * 20))
    assert isinstance(error, AccountRefused)
    assert not error.certain


def test_attempts_end(bench: Benches) -> None:
    made = bench([Step(fault=Fault.SERVER)] * 9)
    with pytest.raises(ProviderFailed) as caught:
        made.board().model(MODEL, work()).complete(ask("hi"))
    assert (caught.value.kind, caught.value.retry, len(made.provider.books)) == ("server", True, 4)
    assert made.board().model(MODEL, work()).complete  # the mark of the call is gone: it may be made later
    assert made.board().recover() == 0


def test_a_provider_that_names_a_pause_gets_it(bench: Benches) -> None:
    made = bench([Step(fault=Fault.RATE_LIMIT, retry_after_s=17), text_step("hello")])
    made.board().model(MODEL, work()).complete(ask("hi"))
    assert made.clock.slept == [17.0]


def test_a_provider_that_asks_for_hours_is_not_waited_for(bench: Benches) -> None:
    made = bench([Step(fault=Fault.RATE_LIMIT, retry_after_s=7200), text_step("hello")])
    with pytest.raises(ProviderFailed):
        made.board().model(MODEL, work()).complete(ask("hi"))
    assert made.clock.slept == []


def test_a_reply_that_says_it_is_html_and_one_without_usage(bench: Benches) -> None:
    made = bench(
        [Step(reply=Reply(text="a"), fault=Fault.WRONG_TYPE), Step(reply=Reply(text="b"), fault=Fault.NO_USAGE)]
    )
    model = made.board().model(MODEL, work())
    assert model.complete(ask("1")).text == "a"
    second = model.complete(ask("2"))
    assert (second.text, second.usage, second.cost_usd) == ("b", Usage(), None)


def test_nothing_listens(bench: Benches) -> None:
    made = bench([])
    board = made.board(wires={"p": made.wire("http://127.0.0.1:9/v1")})
    with pytest.raises(ProviderFailed) as caught:
        board.model(MODEL, work()).complete(ask("hi"))
    assert caught.value.kind == "connection"
    assert {row.status for row in made.rows()} == {CallStatus.FAILED}


def test_the_key_is_in_no_error_no_row_and_no_file(bench: Benches) -> None:
    made = bench([])
    made.provider.key = "another"
    with pytest.raises(ProviderRefused) as caught:
        made.board().model(MODEL, work()).complete(ask("hi"))
    assert made.provider.books[0].headers["authorization"] == f"Bearer {KEY}"
    assert "[key]" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + repr(made.rows()) + repr(made.board())
    assert KEY not in shown
    assert not [path for path in made.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("key", "hidden"), [("abc", False), ("not-needed", False), ("sk-0123456789abc", True)])
def test_a_placeholder_for_a_key_changes_no_reply(bench: Benches, key: str, hidden: bool) -> None:
    """`x`, `EMPTY`, `ollama`: a server of one's own takes any. One that is long enough to be real is shown nowhere."""
    made = bench([text_step(f"{key} is as easy as def {key}(): pass")])
    made.provider.key = ""
    board = made.board(wires={"p": OpenAIWire(made.base_url, Secret(key), timeout_s=5)})
    said = board.model(MODEL, work()).complete(ask("hi")).text
    board.close()
    assert said.count("[key]") == (2 if hidden else 0)
    assert said.count(key) == (0 if hidden else 2)


def test_replay_only_sends_nothing(bench: Benches) -> None:
    made = bench([text_step("hello")])
    made.board().model(MODEL, work()).complete(ask("hi"))
    board = made.board(replay_only=True, wires={})
    assert board.model(MODEL, work()).complete(ask("hi")).text == "hello"
    with pytest.raises(ReplayMiss):
        board.model(MODEL, work()).complete(ask("ho"))
    assert len(made.provider.books) == 1


def test_no_model_no_key(bench: Benches) -> None:
    made = bench([])
    with pytest.raises(NotFound) as caught:
        made.board().model("m-2", work())
    assert "m-1" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        made.board(wires={}).model(MODEL, work()).complete(ask("hi"))
    assert "P_KEY" in caught.value.hint
    assert made.rows() == ()


@pytest.mark.parametrize(
    ("budget", "what"),
    [(Budget(calls=2), "calls"), (Budget(usd=0.0015), "usd"), (Budget(tokens=1500), "tokens")],
)
def test_a_budget_ends_cleanly_and_replays_are_free_for_a_sweep(bench: Benches, budget: Budget, what: str) -> None:
    made = bench([text_step(str(number), prompt=900, completion=0) for number in range(9)])
    meter = Meter("sweep s", budget)
    model = made.board().model(MODEL, work(), meters=[meter])
    short = {"max_tokens": 9}
    model.complete(ask("1", **short))
    model.complete(ask("1", **short))
    model.complete(ask("2", **short))
    with pytest.raises(BudgetExhausted) as caught:
        model.complete(ask("3", **short))
    assert (caught.value.what, caught.value.retry, len(made.provider.books)) == (what, False, 2)
    assert model.complete(ask("2", **short)).cached
    assert meter.spent.calls == 2


def test_a_run_counts_its_replays(bench: Benches) -> None:
    made = bench([text_step("1"), text_step("2")])
    for _ in range(2):
        model = made.board().model(MODEL, work(), meters=[Meter("run", Budget(calls=2), replays=True)])
        model.complete(ask("1"))
        model.complete(ask("2"))
        with pytest.raises(BudgetExhausted):
            model.complete(ask("3"))


def test_seconds_are_a_budget_and_dollars_need_a_price(bench: Benches) -> None:
    made = bench([text_step("1")])
    clock = TestClock()
    meter = Meter("run", Budget(seconds=60), clock=clock)
    model = made.board().model(MODEL, work(), meters=[meter])
    model.complete(ask("1"))
    clock.sleep(61)
    with pytest.raises(BudgetExhausted, match="61 of 60 seconds"):
        model.complete(ask("2"))
    with pytest.raises(UsageError, match="no price"):
        made.board().model("fixed", work(), meters=[Meter("run", Budget(usd=1))]).complete(ask("3"))


def test_half_a_character_is_paid_once_and_kept_as_it_came(bench: Benches) -> None:
    made = bench([text_step("a\ud800b\x00")])
    texts = [made.board().model(MODEL, work(name)).complete(ask("hi")).text for name in ("one", "two")]
    assert texts == ["a\ud800b\x00"] * 2
    assert len(made.provider.books) == 1
    assert {row.method: row.status for row in made.rows()} == {"one": CallStatus.ANSWERED, "two": CallStatus.REPLAYED}


def thinker(needed: int) -> Callable[[ClientRequest], Step]:
    """A model that thinks in hidden tokens, and answers where the limit leaves it room."""

    def say(asked: ClientRequest) -> Step:
        limit = asked.max_tokens or 0
        cut = Reply(text="", usage=Usage(prompt=10, completion=limit), finish_reason=Finish.LENGTH)
        return Step(reply=cut if limit <= needed else Reply(text="hello", usage=Usage(prompt=10, completion=needed)))

    return say


def test_a_reply_that_reasoning_used_up_is_asked_for_with_more_room(bench: Benches) -> None:
    made = bench(thinker(6_000))
    for _ in range(2):
        assert made.board().model(MODEL, work()).complete(ask("hi", max_tokens=4_096)).text == "hello"
    assert [served.spoken.max_tokens for served in made.provider.books] == [4_096, 16_384]
    assert [(row.status, row.tokens_out) for row in made.rows()] == [("answered", 4_096), ("answered", 6_000)]


def test_one_that_more_room_does_not_help_is_left_and_not_paid_for_again(bench: Benches) -> None:
    made = bench(thinker(60_000))
    for _ in range(2):
        with pytest.raises(UnansweredInLimit, match="said nothing within 16384 tokens"):
            made.board().model(MODEL, work()).complete(ask("hi", max_tokens=4_096))
    assert len(made.provider.books) == 2


def test_a_sweep_says_how_the_model_answers_and_its_limit_is_kept(bench: Benches) -> None:
    made = bench(thinker(6_000))
    board = made.board()
    card = replace(board.models.card(MODEL), output=8_000, options=Options(reasoning_effort="low", top_p=0.9))
    board = replace(board, models=Models({MODEL: card}))
    said = Options(reasoning_effort="high", reasoning_tokens=32_000, stop=("END",), verbosity="low")
    model = board.model(MODEL, work(), options=said)
    assert model.complete(ask("hi", max_tokens=4_096)).text == "hello"
    (served,) = made.provider.books
    assert served.spoken.max_tokens == 8_000
    assert served.spoken.options == {
        "reasoning_effort": "high",
        "stop": ["END"],
        "top_p": 0.9,
        "verbosity": "low",
    }


def test_a_step_may_have_a_model_of_its_own_and_is_told_in_the_rows(bench: Benches) -> None:
    made = bench([text_step("one"), text_step("two")])
    model = made.board().model(MODEL, work(), roles={"judge": "fixed"})
    model.complete(ask("hi"))
    model.complete(replace(ask("hi"), step="judge"))
    assert [(row.model, row.step) for row in made.rows()] == [(MODEL, ""), ("fixed", "judge")]
