"""Replies that no model should make: each is a reply, or the provider's failure, and none ends the work."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import pytest
from llm_bench import MODEL, Bench, Benches, ask, work
from test_transport import speaking

from tasks.adapters.llm.base import ModelQuestion, Reply, tool_result, user
from tasks.adapters.llm.errors import ProviderFailed
from tasks.adapters.llm.limits.budget import Budget, Meter
from tasks.adapters.llm.limits.retries import CallRetries
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Step


def chat(message: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]}


def asked(made: Bench, dialect: str, *, stream: bool = False) -> Reply:
    """The reply, after a second call that sends it back."""
    board = replace(speaking(made.board(), dialect, stream=stream), patience=CallRetries(attempts=1))
    model = board.model(MODEL, work(), meters=[Meter("sweep s", Budget(usd=100.0))])
    reply = model.complete(ask("hi"))
    results = [tool_result(call, "done") for call in reply.tool_calls]
    model.complete(ModelQuestion(messages=(user("hi"), reply.message, *results, user("go on"))))
    return reply


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("tokens", [10**400, 2**63, 2**62, 10**12])
@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_a_count_that_no_call_has_is_not_known(bench: Benches, dialect: str, tokens: int) -> None:
    """It was booked: one such reply used up every ceiling, or could not be kept although it was paid for."""
    names = {"chat": ("prompt_tokens", "completion_tokens")}.get(dialect, ("input_tokens", "output_tokens"))
    made = bench([Step(body={"usage": dict.fromkeys(names, tokens)}), Step()])
    asked(made, dialect)
    row = made.rows()[0]
    assert (row.status, row.tokens_in, row.cost_usd) == (CallStatus.ANSWERED, None, None)
    assert row.estimate_usd is not None
    assert row.estimate_usd < 1


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"a":' * 100_000, "x" * 1_000_000, "\ud800"])
def test_arguments_that_cannot_be_read(bench: Benches, arguments: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    reply = asked(bench([Step(body=chat({"content": "x", "tool_calls": [call]})), Step()]), "chat")
    assert reply.tool_calls[0].parsed() is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("depth", [100, 600, 900, 980])
def test_what_is_nested_too_deep_is_no_reply_or_goes_back(bench: Benches, depth: int, stream: bool) -> None:
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": nested(depth)}
    bodies = {
        "messages": {"content": [use], "stop_reason": "tool_use"},
        "chat": chat({"content": "x", "reasoning_details": [nested(depth)]}),
    }
    for number, (dialect, body) in enumerate(bodies.items()):
        made = replace(bench([Step(body=body), Step()]), store_name=f"store-{number}")
        with suppress(ProviderFailed) if depth > 100 else nullcontext():
            asked(made, dialect, stream=stream)
        assert {row.status for row in made.rows()} <= {CallStatus.ANSWERED, CallStatus.CUT}


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("messages", {"content": [{"type": "text", "text": None}]}),
        ("responses", {"output": [{"type": "message", "content": [{"type": "output_text", "text": None}]}]}),
        ("chat", chat({"content": None})),
    ],
)
def test_a_text_that_is_null_says_nothing(bench: Benches, dialect: str, body: dict[str, Any]) -> None:
    """It said `None`."""
    assert asked(bench([Step(body=body), Step()]), dialect).text == ""


@pytest.mark.slow
def test_a_complaint_of_ten_megabytes_is_cut(bench: Benches) -> None:
    made = bench([Step(body={"error": {"code": "x" * 10_000_000, "message": "y" * 10_000_000}})])
    with pytest.raises(ProviderFailed):
        asked(made, "chat")
    assert len(made.rows()[0].error or "") < 1000
    assert json.dumps(made.rows()[0].error)
