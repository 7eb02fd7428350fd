"""litellm as a wire: Bedrock's Converse and a server that speaks chat, both on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from llm_bench import KEY, MODEL, Bench, Benches, ask, work
from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.base import Finish, ModelQuestion, ToolSpec, system, tool_result, user
from tasks.adapters.llm.catalogue.models import Models, read_models
from tasks.adapters.llm.errors import (
    AccountRefused,
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ProviderFailed,
    ProviderRefused,
)
from tasks.adapters.llm.router import ModelRouter
from tasks.adapters.llm.router_factory import wires_of
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.http_server import application, listener, read_json, said, serving
from tasks.adapters.llm.transport.litellm_http import LiteLLMWire
from tasks.domain.errors import BadInput
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_provider.script import Fault, Step
from tests.fakes.scripted_provider.server import text_step

CLAUDE = "bedrock/converse/anthropic.claude-sonnet-4-20250514-v1:0"
BASH = ToolSpec(name="bash", description="a shell", parameters={"type": "object", "properties": {}})
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig=="}}}
USE = {"toolUse": {"toolUseId": "t1", "name": "bash", "input": {"command": "ls"}}}
COUNTED = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 185, "cacheReadInputTokens": 60}


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return pytest.importorskip("litellm", reason="the extra litellm is not installed (200 MB)")


@dataclass
class Converse:
    """Bedrock's Converse (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html)."""

    answers: list[tuple[int, dict[str, Any], dict[str, str]]]
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        self.asked.append((request.url.path, dict(request.headers), await read_json(request)))
        status, body, headers = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return said(status, body, headers)

    @contextmanager
    def serve(self) -> Iterator[str]:
        tcp = listener(0)
        with serving(application(self.answer), tcp):
            yield f"http://127.0.0.1:{tcp.getsockname()[1]}"


def converse(blocks: Sequence[dict[str, Any]], stop: str = "end_turn") -> tuple[int, dict[str, Any], dict[str, str]]:
    output = {"message": {"role": "assistant", "content": list(blocks)}}
    usage = COUNTED | {"cacheWriteInputTokens": 5}
    return 200, {"output": output, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 5}}, {}


def refused(status: int, kind: str, text: str, **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    return status, {"message": text}, {"x-amzn-ErrorType": kind, **headers}


def over(made: Bench, model_id: str, base_url: str, timeout_s: float = 5) -> ModelRouter:
    wire = LiteLLMWire(base_url=base_url, key=Secret(KEY), timeout_s=timeout_s)
    board = made.board(wires={"p": wire})
    cards = {name: replace(card, model_id=model_id) for name, card in board.models.cards.items()}
    return replace(board, models=Models(cards))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "AKIAFAKE"), ("SECRET_ACCESS_KEY", "secret"), ("REGION_NAME", "eu-west-1")):
        monkeypatch.setenv(f"AWS_{name}", value)


def test_bedrock(bench: Benches, litellm: Any, aws: None) -> None:
    """Signed; tools, thinking that goes back, tokens and caches."""
    made = bench([])
    server = Converse([converse([THOUGHT, {"text": "let me look"}, USE], "tool_use"), converse([{"text": "done"}])])
    with server.serve() as url:
        model = over(made, CLAUDE, url).model(MODEL, work())
        first = ModelQuestion(messages=(system("be brief"), user("hi \ud83d")), tools=(BASH,))
        reply = model.complete(first)
        call = reply.tool_calls[0]
        again = replace(first, messages=(*first.messages, reply.message, tool_result(call, "a.py")))
        assert model.complete(again).text == "done"
    assert (reply.text, call.name, call.parsed(), reply.finish_reason) == (
        "let me look",
        "bash",
        {"command": "ls"},
        Finish.TOOL_CALLS,
    )
    path, headers, body = server.asked[0]
    assert path.endswith("/converse")
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAFAKE/")
    assert body["system"] == [{"text": "be brief"}]
    assert body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "bash"
    assert body["inferenceConfig"]["temperature"] == 0.0
    back = server.asked[1][2]["messages"][1]["content"]
    assert THOUGHT in back
    assert USE in back
    row = made.rows()[0]
    assert (row.tokens_in, row.tokens_out, row.tokens_cached, row.tokens_cache_written) == (165, 20, 60, 5)
    assert row.cost_usd == pytest.approx((100 * 1.0 + 60 * 0.5 + 5 * 1.0 + 20 * 2.0) / 1e6)


def test_a_card_without_a_price_costs_what_litellm_reckons(bench: Benches, litellm: Any, aws: None) -> None:
    made, server = bench([]), Converse([converse([{"text": "hello"}])])
    with server.serve() as url:
        board = over(made, CLAUDE, url)
        cards = {name: replace(card, price_key=None) for name, card in board.models.cards.items()}
        replace(board, models=Models(cards)).model(MODEL, work()).complete(ask("hi"))
    assert made.rows()[0].cost_usd == pytest.approx((100 * 3.0 + 60 * 0.3 + 5 * 3.75 + 20 * 15.0) / 1e6)


@pytest.mark.parametrize(
    ("answer", "kind", "attempts"),
    [
        (refused(429, "ThrottlingException", "Too many requests"), ProviderFailed, 4),
        (refused(503, "ServiceUnavailableException", "busy"), ProviderFailed, 4),
        (refused(500, "InternalServerException", "broken"), ProviderFailed, 4),
        (refused(403, "UnrecognizedClientException", "The security token is invalid."), AccountRefused, 1),
        (refused(400, "ValidationException", "Input is too long for requested model."), ContextTooLong, 1),
        (refused(404, "ResourceNotFoundException", "no such model"), ProviderRefused, 1),
        (refused(400, "ValidationException", "temperature: no"), ProviderRefused, 1),
    ],
)
def test_what_bedrock_refuses(
    bench: Benches, litellm: Any, aws: None, answer: Any, kind: type[ModelError], attempts: int
) -> None:
    made, server = bench([]), Converse([answer])
    with server.serve() as url, pytest.raises(kind) as caught:
        over(made, CLAUDE, url).model(MODEL, work()).complete(ask("hi"))
    assert type(caught.value) is kind
    assert len(server.asked) == len(made.rows()) == attempts  # litellm makes no attempts of its own
    assert {row.status for row in made.rows()} == {CallStatus.FAILED}


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        (Fault.NONE, None, CallStatus.ANSWERED),
        (Fault.RATE_LIMIT, ProviderFailed, CallStatus.FAILED),
        (Fault.SERVER, ProviderFailed, CallStatus.FAILED),
        (Fault.AUTH, AccountRefused, CallStatus.FAILED),
        (Fault.NO_QUOTA, AccountRefused, CallStatus.FAILED),
        (Fault.CONTEXT, ContextTooLong, CallStatus.FAILED),
        (Fault.FILTER, ContentFiltered, CallStatus.FAILED),
        (Fault.NO_MODEL, ProviderRefused, CallStatus.FAILED),
        (Fault.HANG_UP, ProviderFailed, CallStatus.CUT),
        (Fault.CUT, ProviderFailed, CallStatus.CUT),
        (Fault.STALLED, ProviderFailed, CallStatus.CUT),
        (Fault.GARBAGE, ProviderFailed, CallStatus.CUT),
        (Fault.HTML, ProviderFailed, CallStatus.CUT),
        (Fault.NO_REPLY, ProviderFailed, CallStatus.CUT),
    ],
)
def test_faults_of_a_server_that_speaks_chat(
    bench: Benches,
    litellm: Any,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    kind: type[ModelError] | None,
    status: CallStatus,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = bench(lambda _: replace(text_step("hello", prompt=1000, completion=100), fault=fault))
    if fault is Fault.AUTH:
        made.provider.key = "another"
    model = over(made, "openai/vendor-m", made.base_url, timeout_s=1).model(MODEL, work())
    if kind is None:
        assert model.complete(ask("hi")).text == "hello"
        assert made.rows()[0].cost_usd == pytest.approx(0.0012)
    else:
        with pytest.raises(kind) as caught:
            model.complete(ask("hi"))
        assert type(caught.value) is kind
        assert KEY not in str(caught.value)
    assert {row.status for row in made.rows()} == {status}
    assert len(made.rows()) == len(made.provider.books)


def test_nobody_there(bench: Benches, litellm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = bench([])
    with pytest.raises(ProviderFailed, match="cannot be reached"):
        over(made, "openai/vendor-m", "http://127.0.0.1:9/v1").model(MODEL, work()).complete(ask("hi"))
    assert {row.cost_usd for row in made.rows()} == {0.0}


def test_where_it_is_not_installed(bench: Benches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    made = bench([Step()])
    with pytest.raises(ProviderRefused, match="litellm is not installed") as caught:
        over(made, CLAUDE, "").model(MODEL, work()).complete(ask("hi"))
    assert "pip install" in caught.value.hint


def test_a_card(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    table = '[provider.aws]\nwire = "litellm"\nkey_env = "AWS_ACCESS_KEY_ID"\n'
    model = f'[model.a]\nprovider = "aws"\nid = "{CLAUDE}"\nsource = "x"\n'
    own.write_text(table + model)
    models = read_models(own)
    assert not wires_of(models, {})
    assert isinstance(wires_of(models, {"AWS_ACCESS_KEY_ID": "AKIA"})["aws"], LiteLLMWire)
    for wrong in (
        'wire = "carrier pigeon"',
        'wire = "litellm"\nbatches = true',
        'wire = "litellm"\ndialect = "messages"',
    ):
        own.write_text(table.replace('wire = "litellm"', wrong) + model)
        with pytest.raises(BadInput):
            read_models(own)


def test_thinking_of_a_chat_server_goes_back(bench: Benches) -> None:
    """OpenRouter's and litellm's proxies want it to."""
    details = [{"type": "reasoning.encrypted", "data": "x", "index": 0}]
    message = {"role": "assistant", "content": "ok", "reasoning_details": details, "reasoning_content": "hm"}
    said_so = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    made = bench([Step(body=said_so), Step()])
    model = made.board().model(MODEL, work())
    reply = model.complete(ask("hi"))
    model.complete(ModelQuestion(messages=(user("hi"), reply.message, user("go on"))))
    back = made.provider.books[1].spoken.body["messages"][1]
    assert back == {"role": "assistant", "content": "ok", "reasoning_details": details}
    assert json.loads(reply.native) == {"chat": {"reasoning_details": details}}
