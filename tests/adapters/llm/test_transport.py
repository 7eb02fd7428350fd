"""What only a provider and its own clients understand arrives as it was said, and is paid for as it is charged."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from llm_bench import MODEL, Bench, Benches, work
from test_gateway import MESSAGES_TOOL, RESPONSES_TOOL, Opened, opened

from tasks.adapters.llm.base import Finish, ModelQuestion, Options, Reply, ToolSpec, system, tool_result, user
from tasks.adapters.llm.catalogue.models import Models
from tasks.adapters.llm.errors import AccountRefused, ContentFiltered, ContextTooLong, ModelError, ProviderFailed
from tasks.adapters.llm.router import ModelRouter
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step

__all__ = ["opened"]

THOUGHT = {"type": "thinking", "thinking": "a shell, then", "signature": "EqQBCkYIBxgCKkD/+=="}
HIDDEN = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls", "né": [1, {"a": None}]}}
SEEN = {
    "content": [THOUGHT, HIDDEN, {"type": "text", "text": "let me look"}, USE],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
        "output_tokens": 40,
    },
}
REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo+/=="}
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash", "arguments": '{"command": "ls"}'}
SAID = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
WORDS = {"type": "output_text", "text": "looking", "annotations": [], "logprobs": []}
OUTPUT = {
    "output": [REASONED, SAID | {"content": [WORDS]}, CALLED],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 140,
    },
}
CUT_ODDLY = '{"output": [], "status": "incomplete", "incomplete_details": [1]}'
BASH = ToolSpec(name="bash", description="a shell", parameters={"type": "object"})


def speaking(board: ModelRouter, dialect: str, **more: Any) -> ModelRouter:
    """The same with a model that is asked in a dialect, and a price for what is put into the cache."""
    cards = {name: replace(card, dialect=dialect, **more) for name, card in board.models.cards.items()}
    prices = tuple(one.model_copy(update={"written": 1.25, "written_for_long": 2.0}) for one in board.prices.entries)
    return replace(board, models=Models(cards), prices=replace(board.prices, entries=prices))


def sent(made: Bench) -> list[dict[str, Any]]:
    return [dict(served.spoken.body) for served in made.provider.books]


def test_messages_upstream(bench: Benches) -> None:
    """Thinking goes back as it came, what repeats is marked for the cache, and the cache is paid for."""
    made = bench([Step(body=SEEN), Step(body={"content": [{"type": "text", "text": "a.py"}]})])
    model = speaking(made.board(), "messages").model(MODEL, work(), options=Options(reasoning_tokens=2000))
    asked = [system("be kind"), user("look")]
    question = ModelQuestion(messages=tuple(asked), tools=(BASH,), options=Options(temperature=0.5, max_tokens=500))
    reply = model.complete(question)
    assert (reply.text, reply.finish_reason, reply.tool_calls[0].parsed()) == (
        "let me look",
        "tool_calls",
        USE["input"],
    )
    asked += [reply.message, tool_result(reply.tool_calls[0], "a.py")]
    assert model.complete(replace(question, messages=tuple(asked))).text == "a.py"
    first, second = sent(made)
    assert first["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert (first["max_tokens"], "temperature" in first) == (2500, False)  # with thinking none may be given
    assert second["messages"][1] == {"role": "assistant", "content": SEEN["content"]}
    assert second["system"][0]["cache_control"] == second["messages"][-1]["content"][-1]["cache_control"]
    assert "cache_control" not in json.dumps(second["messages"][:-1])
    row = made.rows()[0]
    assert (row.tokens_in, row.tokens_cached, row.tokens_cache_written, row.tokens_out) == (1310, 1000, 300, 40)
    assert row.cost_usd == pytest.approx((10 * 1 + 1000 * 0.5 + 200 * 1.25 + 100 * 2 + 40 * 2) / 1e6)
    headers = made.provider.books[0].headers
    assert ("x-api-key" in headers, "authorization" in headers, "anthropic-version" in headers) == (True, False, True)


def test_responses_upstream(bench: Benches) -> None:
    """Encrypted reasoning goes back as it came, and nothing is kept at the provider."""
    made = bench([Step(body=OUTPUT), Step(body={"output": [SAID | {"content": [WORDS | {"text": "a.py"}]}]})])
    model = speaking(made.board(), "responses").model(MODEL, work(), options=Options(reasoning_effort="low"))
    asked = [system("be kind"), user("look")]
    reply = model.complete(ModelQuestion(messages=tuple(asked), tools=(BASH,)))
    assert (reply.text, reply.tool_calls[0].name, reply.finish_reason) == ("looking", "bash", Finish.TOOL_CALLS)
    asked += [reply.message, tool_result(reply.tool_calls[0], "a.py")]
    assert model.complete(ModelQuestion(messages=tuple(asked), tools=(BASH,))).text == "a.py"
    first, second = sent(made)
    assert (first["store"], first["include"]) == (False, ["reasoning.encrypted_content"])
    assert (first["reasoning"], first["instructions"], "seed" in first) == ({"effort": "low"}, "be kind", False)
    assert second["input"][1:4] == OUTPUT["output"]
    assert second["input"][4] == {"type": "function_call_output", "call_id": "call_1", "output": "a.py"}
    assert (made.rows()[0].tokens_in, made.rows()[0].tokens_cached) == (100, 60)


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_passes_the_gateway_unchanged(opened: Opened, stream: bool) -> None:
    """Anthropic's own SDK: signatures and cache markers arrive, tools of the provider's own and names do not."""
    made = opened([Step(body=SEEN), Step(body={"content": [{"type": "text", "text": "a.py"}]})])
    made.gateway.board = speaking(made.gateway.board, "messages")
    client = made.anthropic()
    marked = {"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    call: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 5000,
        "system": [marked],
        "tools": [MESSAGES_TOOL, {"type": "web_search_20250305", "name": "web_search"}],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "metadata": {"user_id": "somebody"},
        "extra_headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"},
    }
    asked: list[dict[str, Any]] = [{"role": "user", "content": "look"}]

    def complete() -> Any:
        if not stream:
            return client.messages.create(messages=asked, **call)
        with client.messages.stream(messages=asked, **call) as events:
            return events.get_final_message()

    done = complete()
    assert [block.model_dump(exclude_none=True) for block in done.content] == SEEN["content"]
    assert done.usage.cache_read_input_tokens == 1000
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}
    asked += [{"role": "assistant", "content": done.content}, {"role": "user", "content": [back]}]
    assert complete().content[0].text == "a.py"
    first, second = sent(made.bench)
    assert (first["system"], first["tools"], first["thinking"]) == ([marked], [MESSAGES_TOOL], call["thinking"])
    assert second["messages"] == [asked[0], {"role": "assistant", "content": SEEN["content"]}, asked[2]]
    assert not {"metadata", "stream"} & first.keys()
    assert {served.headers.get("anthropic-beta") for served in made.bench.provider.books} == {
        "interleaved-thinking-2025-05-14"
    }
    assert made.bench.rows()[0].cost_usd == pytest.approx((10 + 500 + 250 + 200 + 80) / 1e6)


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_passes_the_gateway_unchanged(opened: Opened, stream: bool) -> None:
    """OpenAI's own SDK: encrypted reasoning arrives, and nothing may be kept at the provider."""
    made = opened([Step(body=OUTPUT), Step(body={"output": [SAID | {"content": [WORDS]}]})])
    made.gateway.board = speaking(made.gateway.board, "responses")
    client = made.openai()
    call: dict[str, Any] = {
        "model": MODEL,
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "tools": [RESPONSES_TOOL, {"type": "web_search"}],
        "store": True,
    }
    asked: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    if stream:
        with client.responses.stream(input=asked, **call) as events:
            done = events.until_done().get_final_response()
    else:
        done = client.responses.create(input=asked, **call)
    assert done.output[0].encrypted_content == REASONED["encrypted_content"]
    assert done.usage.output_tokens_details.reasoning_tokens == 30
    asked += [*OUTPUT["output"], {"type": "function_call_output", "call_id": "call_1", "output": "a.py"}]
    assert client.responses.create(input=asked, **call).output_text == "looking"
    first, second = sent(made.bench)
    assert (first["reasoning"], first["store"], first["include"]) == (call["reasoning"], False, call["include"][:1])
    assert [tool["name"] for tool in first["tools"]] == ["bash"]
    assert second["input"] == asked


def test_what_the_chat_dialect_adds_passes_the_gateway(opened: Opened) -> None:
    """`reasoning_content` of open models comes out and goes back in; a sweep's options go before the caller's."""
    message = {"role": "assistant", "content": "hello", "reasoning_content": "they say hi"}
    made = opened(
        [Step(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})] * 2,
        options=Options(temperature=0.2),
    )
    part = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    asked: list[Any] = [{"role": "user", "content": [part]}]
    call = {"model": MODEL, "temperature": 0.9, "top_p": 0.5, "user": "somebody"}
    done = made.openai().chat.completions.create(messages=asked, **call).choices[0].message
    assert done.model_dump(exclude_none=True) == message
    asked += [done.model_dump(exclude_none=True), {"role": "user", "content": "bye"}]
    made.openai().chat.completions.create(messages=asked, **call)
    first, second = sent(made.bench)
    assert (second["messages"], first["temperature"], first["top_p"], "user" in first) == (asked, 0.2, 0.5, False)


def test_a_native_reply_is_replayed_whole(opened: Opened) -> None:
    """The same work again: no second request and no second row, and its signature is there as well."""
    made = opened([Step(body=SEEN)])
    made.gateway.board = speaking(made.gateway.board, "messages")
    again = replace(made, issued=made.gateway.issue(replace(made.gateway.run_of(made.issued.token).grant)))
    call: dict[str, Any] = {"model": MODEL, "max_tokens": 5000, "messages": [{"role": "user", "content": "look"}]}
    one, two = (each.anthropic().messages.create(**call) for each in (made, again))
    assert [block.model_dump() for block in one.content] == [block.model_dump() for block in two.content]
    assert (len(made.bench.provider.books), [row.status for row in made.bench.rows()]) == (1, [CallStatus.ANSWERED])


def test_a_budget_of_thinking_fits_below_the_limit(opened: Opened) -> None:
    made = opened([Step(body={"content": [{"type": "text", "text": "x"}]})])
    made.gateway.board = speaking(made.gateway.board, "messages", output=3000)
    thinking = {"type": "enabled", "budget_tokens": 8000}
    made.anthropic().messages.create(
        model=MODEL, max_tokens=9000, thinking=thinking, messages=[{"role": "user", "content": "look"}]
    )
    [body] = sent(made.bench)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (3000, 1500)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMIT, ProviderFailed),
        (Fault.SERVER, ProviderFailed),
        (Fault.OVERLOADED, ProviderFailed),
        (Fault.AUTH, AccountRefused),
        (Fault.CONTEXT, ContextTooLong),
        (Fault.FILTER, ContentFiltered),
        (Fault.LOW_BALANCE, AccountRefused),
        (Fault.MODERATED, ContentFiltered),
        (Fault.GARBAGE, ProviderFailed),
        (Fault.HTML, ProviderFailed),
        (Fault.CUT, ProviderFailed),
    ],
)
def test_faults_mean_the_same_in_every_dialect(
    bench: Benches, dialect: str, fault: Fault, kind: type[ModelError]
) -> None:
    made = bench([Step(fault=fault)] * 4)
    with pytest.raises(kind):
        speaking(made.board(), dialect).model(MODEL, work()).complete(ModelQuestion(messages=(user("hi"),)))
    assert len(made.rows()) == len(made.provider.books) == (4 if kind is ProviderFailed else 1)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
@pytest.mark.parametrize(
    "body",
    ["[]", '{"content": 3, "output": 3, "choices": 3}', '{"content": [{}]}', "null", "7", "[" * 100_000, CUT_ODDLY],
)
def test_an_answer_that_is_none(bench: Benches, dialect: str, body: str) -> None:
    wire = bench([]).wire()
    with pytest.raises(ProviderFailed, match="the provider's answer"):
        wire._read(body, dialect, 0.0)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_half_a_surrogate_pair_is_sent_back(bench: Benches, dialect: str) -> None:
    """A model said it, so the conversation that holds it has to go on."""
    thought = {"content": [THOUGHT | {"thinking": "\ud800"}, {"type": "text", "text": "x\ud800"}]}
    made = bench([Step(reply=Reply(text="x\ud800"), body=thought if dialect == "messages" else {}), Step()])
    model = speaking(made.board(), dialect).model(MODEL, work())
    reply = model.complete(ModelQuestion(messages=(user("hi"),)))
    model.complete(ModelQuestion(messages=(user("hi"), reply.message, user("\ud83d"))))
    assert "\\ud800" in json.dumps(sent(made)[1])
