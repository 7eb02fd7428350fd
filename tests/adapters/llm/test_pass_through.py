"""The official SDKs through the gateway: byte for byte, what they send is what the provider gets.

Only what this project must not pass on, and what it decides itself, may differ, and each of it is named here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from llm_bench import MODEL
from test_gateway import CHAT_TOOL, MESSAGES_TOOL, RESPONSES_TOOL, URL, Open, Opened, opened
from test_transport import OUTPUT, REASONED, SEEN, THOUGHT, speaking

from tests.fakes.request_diff import canonical, diff_requests, values
from tests.fakes.scripted_provider.script import Step

__all__ = ["opened"]

Sent = list[dict[str, Any]]
MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
ODD = 'naïve "quotes" \\ \u2028 🙂 </script> 1e400'
"""Text that a careless encoder changes."""
MESSAGE = {
    "role": "assistant",
    "content": None,
    "reasoning_content": ODD,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":  "ls" }'}}],
}
SAID = {
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": MESSAGE}],
    "usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "total_tokens": 1010,
        "prompt_tokens_details": {"cached_tokens": 900},
    },
}


def watched(into: Sent) -> dict[str, list[Callable[[Any], None]]]:
    """Hooks of an HTTP client that keep the bodies of its requests."""
    return {"request": [lambda request: into.append(json.loads(request.read()))]}


def openai_client(made: Open, into: Sent) -> openai.OpenAI:
    transport = httpx.HTTPTransport(uds=str(made.socket))
    client = made.stack.enter_context(httpx.Client(transport=transport, timeout=60, event_hooks=watched(into)))
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=made.issued.token, http_client=client)


def anthropic_client(made: Open, into: Sent) -> anthropic.Anthropic:
    transport = httpx2.HTTPTransport(uds=str(made.socket))
    client = anthropic.DefaultHttpxClient(transport=transport, event_hooks=watched(into))
    return made.stack.enter_context(anthropic.Anthropic(base_url=URL, api_key=made.issued.token, http_client=client))


def arrived(made: Open) -> Sent:
    return [dict(served.spoken.body) for served in made.bench.provider.books]


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic(opened: Opened, stream: bool) -> None:
    """Thinking and its signature, redacted thinking, markers for the cache at each place, a tool's call and result."""
    made = opened([Step(body=SEEN)] * 2)
    made.gateway.board = speaking(made.gateway.board, "messages")
    said: Sent = []
    client = anthropic_client(made, said)
    call: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 5000,
        "system": [{"type": "text", "text": ODD} | MARK],
        "tools": [MESSAGES_TOOL | MARK],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "metadata": {"user_id": "somebody"},
    }
    asked: list[Any] = [{"role": "user", "content": [{"type": "text", "text": ODD} | MARK]}]
    for _ in range(2):
        if stream:
            with client.messages.stream(messages=asked, **call) as events:
                done = events.get_final_message()
        else:
            done = client.messages.create(messages=asked, **call)
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": ODD}]}
        asked += [{"role": "assistant", "content": done.content}, {"role": "user", "content": [result | MARK]}]
    assert len(said) == len(arrived(made)) == 2
    for one, other in zip(said, arrived(made), strict=True):
        passed = diff_requests(one, other)
        assert (passed.changed, passed.added) == (("model",), ())
        assert passed.left_out == ("metadata", "stream") if stream else ("metadata",)
        assert set(passed.same) == call.keys() - {"model", "metadata"} | {"messages"}
    assert canonical(arrived(made)[1]["messages"][1]["content"]) == canonical(SEEN["content"])
    assert list(values(arrived(made)[1], "signature")) == [THOUGHT["signature"]]
    assert len(list(values(arrived(made)[1], "cache_control"))) == 4
    row = made.bench.rows()[0]
    assert (row.tokens_in, row.tokens_cached, row.tokens_cache_written) == (1310, 1000, 300)
    assert row.cost_usd == pytest.approx((10 * 1 + 1000 * 0.5 + 200 * 1.25 + 100 * 2 + 40 * 2) / 1e6)


@pytest.mark.parametrize("stream", [False, True])
def test_openai_responses(opened: Opened, stream: bool) -> None:
    """Encrypted reasoning, a tool's call and result, and where the provider's cache is to look."""
    made = opened([Step(body=OUTPUT)] * 2)
    made.gateway.board = speaking(made.gateway.board, "responses")
    said: Sent = []
    client = openai_client(made, said)
    call: dict[str, Any] = {
        "model": MODEL,
        "instructions": ODD,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {"verbosity": "low"},
        "tools": [RESPONSES_TOOL],
        "parallel_tool_calls": False,
        "prompt_cache_key": "a conversation",
        "store": False,
        "user": "somebody",
    }
    asked: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": ODD}]}]
    for _ in range(2):
        if stream:
            parts = list(client.responses.create(input=asked, stream=True, **call))
            done = parts[-1].response  # type: ignore[union-attr]
        else:
            done = client.responses.create(input=asked, **call)
        result = {"type": "function_call_output", "call_id": "call_1", "output": ODD}
        asked += [*(item.model_dump(exclude_unset=True) for item in done.output), result]
    assert len(said) == len(arrived(made)) == 2
    for one, other in zip(said, arrived(made), strict=True):
        passed = diff_requests(one, other)
        assert (passed.changed, passed.added) == (("model",), ())
        assert passed.left_out == ("stream", "user") if stream else ("user",)
        assert set(passed.same) == call.keys() - {"model", "user"} | {"input"}
    assert canonical(arrived(made)[1]["input"][1:4]) == canonical(OUTPUT["output"])
    assert list(values(arrived(made)[1], "encrypted_content")) == [REASONED["encrypted_content"]]
    row = made.bench.rows()[0]
    assert (row.tokens_in, row.tokens_cached) == (100, 60)
    assert row.cost_usd == pytest.approx((40 * 1 + 60 * 0.5 + 40 * 2) / 1e6)


@pytest.mark.parametrize("stream", [False, True])
def test_openai_chat(opened: Opened, stream: bool) -> None:
    """What open models add (`reasoning_content`), markers for the cache, a call's arguments as they were spelt."""
    made = opened([Step(body=SAID)] * 2)
    said: Sent = []
    client = openai_client(made, said)
    call: dict[str, Any] = {
        "model": MODEL,
        "tools": [CHAT_TOOL],
        "tool_choice": "auto",
        "top_p": 0.1 + 0.2,
        "stop": [ODD],
        "user": "somebody",
    }
    asked: list[Any] = [{"role": "user", "content": [{"type": "text", "text": ODD} | MARK]}]
    for _ in range(2):
        said_back = in_parts(client, messages=asked, **call) if stream else whole(client, messages=asked, **call)
        asked += [said_back, {"role": "tool", "tool_call_id": "c1", "content": ODD}]
    assert len(said) == len(arrived(made)) == 2
    for one, other in zip(said, arrived(made), strict=True):
        passed = diff_requests(one, other)
        assert (passed.changed, passed.added) == (("model",), ())
        assert passed.left_out == ("stream", "user") if stream else ("user",)
        assert set(passed.same) == call.keys() - {"model", "user"} | {"messages"}
    assert canonical(arrived(made)[1]["messages"][1]) == canonical(MESSAGE)
    row = made.bench.rows()[0]
    assert (row.tokens_in, row.tokens_cached) == (1000, 900)
    assert row.cost_usd == pytest.approx((100 * 1 + 900 * 0.5 + 10 * 2) / 1e6)


def whole(client: openai.OpenAI, **call: Any) -> dict[str, Any]:
    return client.chat.completions.create(**call).choices[0].message.model_dump(exclude_unset=True)


def in_parts(client: openai.OpenAI, **call: Any) -> dict[str, Any]:
    """The message that the parts of a stream come to."""
    made: dict[str, Any] = {}
    for part in client.chat.completions.create(stream=True, **call):
        made |= part.choices[0].delta.model_dump(exclude_unset=True)
    made["tool_calls"] = [{name: one[name] for name in one if name != "index"} for one in made["tool_calls"]]
    return made
