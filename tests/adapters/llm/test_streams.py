"""A streamed reply is the one that would have come at once; a stream that is none is the failure of its provider."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from llm_bench import KEY, MODEL, Benches, ask, models_in, work
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from test_transport import OUTPUT, SEEN, speaking

from tasks.adapters.llm.base import Options, Reply, Usage
from tasks.adapters.llm.catalogue.models import STREAMED_ABOVE, read_models
from tasks.adapters.llm.dialects.by_name import BY_NAME
from tasks.adapters.llm.dialects.spoken import NotAReply
from tasks.adapters.llm.dialects.streamed import SaidError, Unfinished, assembled
from tasks.adapters.llm.errors import AccountRefused, ContextTooLong, ProviderFailed
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport import streaming as listening
from tasks.adapters.llm.transport.http_server import application, listener, serving
from tasks.adapters.llm.transport.openai_http import OpenAIWire
from tasks.adapters.llm.transport.streaming import Patience, Speechless, TooLarge, events, whole
from tasks.domain.errors import BadInput
from tasks.domain.llm import CallStatus
from tests.fakes.scripted_model import calling
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.streams import stream_of

ODD = 'naïve "quotes" \\ \u2028\x85 🙂 half \ud83d\x00 end\r\n'
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":  "ls \\"x\\"" }'}}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "system_fingerprint": "fp",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": ODD,
                "refusal": None,
                "reasoning_content": ODD,
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "r1", "index": 0}],
                "tool_calls": [CALL, {**CALL, "id": "c2"}],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "cost": 0.1},
}


def saying(message: dict[str, Any]) -> dict[str, Any]:
    return CHAT | {"choices": [CHAT["choices"][0] | {"message": message}]}


SILENT_CALL = {"role": "assistant", "content": None, "tool_calls": [CALL]}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None} | SEEN
CITED = {"type": "text", "text": ODD, "extra": {"kept": 1}}
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed"} | OUTPUT
BODIES = (
    ("chat", CHAT),
    ("chat", saying(SILENT_CALL)),
    ("messages", MESSAGE),
    ("messages", MESSAGE | {"content": [CITED, {"type": "tool_use", "id": "t", "name": "n", "input": {}}]}),
    ("messages", MESSAGE | {"content": []}),
    ("responses", RESPONSE),
    ("responses", RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
)


def heard(parts: list[str], patience: float = 5.0) -> Iterator[Any]:
    return events([part.encode("utf-8", "surrogatepass") for part in parts], Patience(patience))


@pytest.mark.parametrize(("dialect", "body"), BODIES)
def test_a_stream_is_the_body(dialect: str, body: dict[str, Any]) -> None:
    made = assembled(dialect, heard(stream_of(dialect, body, with_usage=True)))
    assert json.loads(json.dumps(made)) == body
    module = BY_NAME[dialect]
    assert module.reply_of(made, raw="", seconds=0) == module.reply_of(body, raw="", seconds=0)


@pytest.mark.parametrize(("dialect", "body"), BODIES)
@pytest.mark.parametrize("line", ["\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 3, 100_000])
def test_however_lines_and_chunks_end(dialect: str, body: dict[str, Any], line: str, size: int) -> None:
    text = ": hello\n\n" + "".join(stream_of(dialect, body, with_usage=True))
    data = text.replace("\n", line).encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert json.loads(json.dumps(assembled(dialect, events(chunks, Patience(5))))) == body


@pytest.mark.parametrize(("dialect", "body"), BODIES)
def test_a_stream_that_ends_early_is_none_wherever_it_ends(dialect: str, body: dict[str, Any]) -> None:
    parts = stream_of(dialect, body, with_usage=True)
    for kept in range(len(parts)):
        with pytest.raises(Unfinished):
            assembled(dialect, heard(parts[:kept]))


@pytest.mark.parametrize("dialect", BY_NAME)
def test_what_is_no_stream_of_the_dialect(dialect: str) -> None:
    for data in ("[]", "7", "nothing", "[" * 100_000, '{"choices": 3}', '{"type": 3}', '{"type": "message_delta"}'):
        with pytest.raises((NotAReply, Unfinished)):
            assembled(dialect, heard([f"data: {data}\n\n"]))
    for data in (
        '{"choices": [{"index": {}}]}',
        '{"type": "content_block_delta", "index": 0, "delta": {}}',
        '{"type": "response.completed", "response": 3}',
        '{"choices": [{"index": 0, "delta": [1]}]}',
    ):
        with pytest.raises((NotAReply, Unfinished)):
            assembled(dialect, heard([f"data: {data}\n\n"]))


def test_a_hundred_thousand_pieces_take_no_more_than_their_share() -> None:
    def seconds(many: int) -> float:
        parts = stream_of("chat", saying({"role": "assistant", "content": "x" * 7 * many}), with_usage=True)
        began = time.process_time()
        assembled("chat", heard(parts))
        return time.process_time() - began

    assert seconds(40_000) < 12 * seconds(10_000)


def test_signs_of_life_are_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def waiting(part: bytes) -> Iterator[bytes]:
        while True:
            time.sleep(0.01)
            yield part

    for part in (b": waiting\n\n", b'data: {"type": "ping"}\n\n', b'event: keepalive\ndata: {"type": "keepalive"}\n\n'):
        with pytest.raises(Speechless):
            assembled("messages", events(waiting(part), Patience(0.1)))
    with pytest.raises(Speechless):
        whole(waiting(b" "), Patience(0.1))
    monkeypatch.setattr(listening, "LONGEST_S", 0.1)
    with pytest.raises(Speechless):
        assembled("messages", events(waiting(b'data: {"type": "message_start", "message": {}}\n\n'), Patience(5)))


def test_no_answer_is_larger_than_a_reply_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "LARGEST", 1000)
    monkeypatch.setattr(listening, "LARGEST_STREAM", 1000)
    assert whole([b"x" * 1000], Patience(5)) == "x" * 1000
    with pytest.raises(TooLarge):
        whole(iter([b"x" * 600] * 2), Patience(5))
    with pytest.raises(TooLarge):
        assembled("chat", events(iter([b"data: " + b"x" * 600] * 2), Patience(5)))


def test_input_of_a_tool_that_its_limit_cut() -> None:
    cut = MESSAGE | {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"command": "ls -la"}}]}
    parts = [one for one in stream_of("messages", cut, with_usage=True) if 'la\\"}' not in one and '\\"}"' not in one]
    reply = BY_NAME["messages"].reply_of(assembled("messages", heard(parts)), raw="", seconds=0)
    assert "_broken" in (reply.tool_calls[0].parsed() or {})


def test_errors_are_found_wherever_they_stand() -> None:
    cases: list[tuple[str, dict[str, Any], bool]] = [
        ("chat", {"error": {"message": "no", "code": 429}}, False),
        ("chat", {"error": "no", "choices": [{"index": 0, "finish_reason": "error", "delta": {}}]}, False),
        ("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, False),
        ("responses", {"type": "error", "code": "server_error", "message": "no"}, False),
        ("responses", {"type": "response.failed", "response": {"error": {"code": "x", "message": "no"}}}, False),
    ]
    for dialect, event, begun in cases:
        with pytest.raises(SaidError) as caught:
            assembled(dialect, heard([f"data: {json.dumps(event)}\n\n"]))
        assert (caught.value.said["message"], caught.value.begun) == ("no", begun)


def test_items_that_the_last_event_leaves_out() -> None:
    parts = stream_of("responses", RESPONSE, with_usage=True)
    parts[-1] = f"data: {json.dumps({'type': 'response.completed', 'response': RESPONSE | {'output': []}})}\n\n"
    assert assembled("responses", heard(parts)) == RESPONSE


@pytest.mark.parametrize("dialect", BY_NAME)
def test_a_streamed_call_has_the_key_and_the_reply_of_one_that_came_at_once(bench: Benches, dialect: str) -> None:
    """So a reply that was streamed is replayed where it is not, and the other way round."""
    usage = Usage(prompt=1000, completion=100, cached=0)
    reply = Reply(text=ODD, tool_calls=(calling("bash", command="ls").tool_calls[0],), usage=usage)
    made = bench([Step(reply=reply)] * 2)
    first = speaking(made.board(), dialect, stream=True).model(MODEL, work()).complete(ask("hi"))
    again = speaking(made.board(), dialect, stream=False).model(MODEL, work()).complete(ask("hi"))
    other = replace(made, store_name="other")
    plain = speaking(other.board(), dialect, stream=False).model(MODEL, work()).complete(ask("hello"))
    assert again.cached
    assert [served.spoken.stream for served in made.provider.books] == [True, False]
    for one in (first, again, plain):
        assert (one.text, one.usage.prompt, one.usage.completion) == (first.text, 1000, 100)
        assert [(call.name, call.parsed()) for call in one.tool_calls] == [("bash", {"command": "ls"})]
    assert made.rows(status=CallStatus.ANSWERED)[0].cost_usd == pytest.approx(0.0012)


def test_when_a_reply_is_streamed(bench: Benches) -> None:
    made = bench([Step()])
    card = models_in(made.folder).card(MODEL)

    def streamed(limit: int | None, **more: Any) -> bool:
        own = replace(card, **more)
        return own.streamed(own.request(ask("hi"), Options(max_tokens=limit)))

    assert not streamed(STREAMED_ABOVE)
    assert streamed(STREAMED_ABOVE + 1)
    assert not streamed(None)
    assert streamed(None, output=64_000)
    assert not streamed(64_000, output=8_000)
    assert streamed(None, dialect="messages")
    assert not streamed(64_000, stream=False)
    assert streamed(10, stream=True)


def test_a_card_says_whether(bench: Benches) -> None:
    folder = bench([]).folder
    table = '[provider.p]\nbase_url = "http://127.0.0.1:9"\nstream = true\n[model.a]\nprovider = "p"\nsource = "x"\n'
    other = '[model.b]\nprovider = "p"\nstream = false\nsource = "x"\n'
    (folder / "own.toml").write_text(table + other)
    cards = read_models(folder / "own.toml").cards
    assert (cards["a"].stream, cards["b"].stream) == (True, False)
    (folder / "own.toml").write_text(table + other.replace("false", '"no"'))
    with pytest.raises(BadInput, match="stream"):
        read_models(folder / "own.toml")


@contextmanager
def answering(response: Response) -> Iterator[OpenAIWire]:
    async def answer(request: Request) -> Response:
        await request.body()
        return response

    tcp = listener(0)
    with serving(application(answer), tcp):
        wire = OpenAIWire(f"http://127.0.0.1:{tcp.getsockname()[1]}/v1", Secret(KEY), timeout_s=1)
        yield wire
        wire.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "authentication_error", "message": "no"}, AccountRefused),
        ({"type": "rate_limit_error", "message": "no"}, ProviderFailed),
        ({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}, ContextTooLong),
    ],
)
def test_an_error_in_a_stream_is_of_its_kind(bench: Benches, error: dict[str, str], kind: type[Exception]) -> None:
    event = f"event: error\ndata: {json.dumps({'type': 'error', 'error': error})}\n\n"
    begun = stream_of("messages", MESSAGE, with_usage=True)[0]
    for before, charged in (("", CallStatus.FAILED), (begun, CallStatus.CUT)):
        made = bench([])
        made.store_name = f"store-{charged}-{kind.__name__}"
        with answering(Response(before + event, media_type="text/event-stream")) as wire:
            board = speaking(made.board(wires={"p": wire}), "messages", stream=True)
            with pytest.raises(kind):
                board.model(MODEL, work()).complete(ask("hi"))
        assert {row.status for row in made.rows()} == {charged}


def test_a_key_in_pieces_is_taken_out(bench: Benches) -> None:
    made = bench([Step(reply=Reply(text=f"your key is {KEY}, is it?"))])
    model = speaking(made.board(), "chat", stream=True).model(MODEL, work())
    assert model.complete(ask("hi")).text == "your key is [key], is it?"


def test_an_answer_that_trickles_for_ever_is_ended(bench: Benches) -> None:
    async def spaces() -> Any:
        import anyio

        while True:
            await anyio.sleep(0.05)
            yield b" "

    with answering(StreamingResponse(spaces(), media_type="application/json")) as wire:
        card = models_in(bench([]).folder).card(MODEL)
        with pytest.raises(ProviderFailed, match="no reply within 1 s") as caught:
            wire.send(card.request(ask("hi"), ask("hi").options), card)
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize("dialect", BY_NAME)
def test_junk_anywhere_in_a_stream_is_the_failure_of_its_provider(dialect: str) -> None:
    """And never an error of ours. A text where an object should be was one."""
    junk: tuple[Any, ...] = (None, 0, True, "", "text", [], ["ab"], [["a"]], {}, {"index": {}}, {"type": "x"})
    for body in (body for name, body in BODIES if name == dialect):
        parts = stream_of(dialect, body, with_usage=True)
        for place, part in enumerate(parts):
            for data in _spoilt(part, junk):
                with suppress(NotAReply, Unfinished, SaidError):
                    whole = assembled(dialect, heard([*parts[:place], data, *parts[place + 1 :]]))
                    BY_NAME[dialect].reply_of(whole, raw="", seconds=0)


def _spoilt(part: str, junk: tuple[Any, ...]) -> Iterator[str]:
    """An event with junk in the place of each of its fields, and of the fields of these."""
    if "[DONE]" in part:
        return
    event = json.loads(part.partition("data: ")[2])
    for name, value in event.items():
        inner = [{name: value | {key: one}} for key in value for one in junk] if isinstance(value, dict) else []
        yield from (f"data: {json.dumps(event | spoilt)}\n\n" for spoilt in [*({name: one} for one in junk), *inner])


@pytest.mark.parametrize("dialect", BY_NAME)
def test_an_error_as_proxies_say_it_is_found_in_every_dialect(dialect: str) -> None:
    """Without the type that the dialect's own have: it was taken for garbage, and asked for six times."""
    begun = stream_of(dialect, dict(BODIES)[dialect], with_usage=True)[:1]
    with pytest.raises(SaidError) as caught:
        assembled(dialect, heard([*begun, 'data: {"error": {"message": "no", "code": 402}}\n\n']))
    assert (caught.value.said["code"], caught.value.begun) == (402, dialect != "responses")


def test_tokens_of_which_only_the_beginning_was_told_are_unknown() -> None:
    """A stream of messages begins with one token made, and says the rest at its end, where a server may be silent."""
    parts = stream_of("messages", MESSAGE | {"usage": {"input_tokens": 9, "output_tokens": 700}}, with_usage=True)
    silent = [one.replace(', "usage": {"output_tokens": 700}', "") for one in parts]
    assert silent != parts
    for said, made in ((parts, 700), (silent, None)):
        reply = BY_NAME["messages"].reply_of(assembled("messages", heard(said)), raw="", seconds=0)
        assert (reply.usage.prompt, reply.usage.completion) == (9, made)


def test_a_last_event_without_an_empty_line_after_it() -> None:
    parts = stream_of("chat", CHAT, with_usage=True)
    assert json.loads(json.dumps(assembled("chat", heard([*parts[:-1], "data: [DONE]"])))) == CHAT
