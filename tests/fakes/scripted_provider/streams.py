"""A body as the stream that its provider makes of it, in small pieces, and what goes wrong with one.

Written from the providers' pages on streaming, not from our own dialects, whose streams are for agents:
https://platform.openai.com/docs/api-reference/chat-streaming, https://platform.openai.com/docs/api-reference/
responses-streaming, https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from anyio import sleep

from tests.fakes.scripted_provider.script import Fault

PIECE = 7
"""Characters of a delta: few, so that words, numbers and escapes come in parts."""
PING = 'event: ping\ndata: {"type": "ping"}\n\n'
PINGS_S = 0.1
"""Between two signs of life."""
ERRORS: Mapping[str, Mapping[str, Any]] = {
    "chat": {"error": {"message": "upstream failed", "type": "server_error", "code": 502}},
    "responses": {"type": "error", "code": "server_error", "message": "upstream failed", "param": None},
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
}
OPAQUE = ("reasoning_details", "annotations")
"""Lists in a chat's message that come whole."""


def stream_of(dialect: str, body: Mapping[str, Any], *, with_usage: bool) -> list[str]:
    """The events of a body. `with_usage`: whether a chat's tokens were asked for."""
    if dialect == "chat":
        return list(_chat(body, with_usage))
    return list(_MADE[dialect](body))


async def faulty(fault: Fault, dialect: str, events: list[str], seconds: float) -> AsyncIterator[str]:
    """A stream with a fault; where it falls silent, it does so for some seconds."""
    half = events[: len(events) // 2]
    broken = f"data: {json.dumps(ERRORS[dialect])}\n\n"
    begun = {Fault.UNENDED: events[:-1], Fault.ERROR_FIRST: [broken], Fault.ERROR_MIDWAY: [*half, broken]}
    for event in begun.get(fault, half):
        yield event
    if fault is Fault.HALF_EVENT:
        yield 'data: {"type": "content_\n\n'
    elif fault is Fault.STALLED:
        await sleep(seconds)
    elif fault is Fault.ONLY_PINGS:
        for _ in range(int(seconds / PINGS_S)):
            yield PING if dialect == "messages" else ": waiting\n\n"
            await sleep(PINGS_S)


def _pieces(text: str) -> Iterator[str]:
    yield from (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _chat(body: Mapping[str, Any], with_usage: bool) -> Iterator[str]:
    head = {name: value for name, value in body.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    none = {"usage": None} if with_usage else {}
    choice = body["choices"][0]

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        said = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return f"data: {json.dumps({**head, 'choices': [said], **none})}\n\n"

    message = choice["message"]
    silent = {name: None for name, value in message.items() if value is None}
    yield chunk({"role": "assistant"} | silent)
    for name, value in message.items():
        if isinstance(value, str) and name != "role":
            yield from (chunk({name: piece}) for piece in _pieces(value) or [""])
        elif name in OPAQUE:
            yield chunk({name: value})
    for index, call in enumerate(message.get("tool_calls") or ()):
        called = call["function"]
        begun = call | {"index": index, "function": called | {"arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in _pieces(called["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage and "usage" in body:
        yield f"data: {json.dumps(head | {'choices': [], 'usage': body['usage']})}\n\n"
    yield "data: [DONE]\n\n"


def _messages(body: Mapping[str, Any]) -> Iterator[str]:
    usage = body.get("usage")
    known = {} if usage is None else {"usage": usage | {"output_tokens": 1}}
    begun = {**body, "content": [], "stop_reason": None, "stop_sequence": None, **known}
    yield _event("message_start", message=begun)
    yield PING
    for index, block in enumerate(body["content"]):
        start, deltas = _block(block)
        yield _event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {name: body.get(name) for name in ("stop_reason", "stop_sequence")}
    counted = {} if usage is None else {"usage": {"output_tokens": usage["output_tokens"]}}
    yield _event("message_delta", delta=ended, **counted)
    yield _event("message_stop")


def _block(block: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """How a block begins, and what is added to it."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    if kind == "tool_use":
        given = json.dumps(block["input"])
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": one} for one in _pieces(given)]
    if kind == "thinking":
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
        signed: dict[str, Any] = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thought, signed]
    return block, []


def _responses(body: Mapping[str, Any]) -> Iterator[str]:
    numbers = iter(range(1_000_000))

    def event(kind: str, **more: Any) -> str:
        return _event(kind, sequence_number=next(numbers), **more)

    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(body["output"]):
        place = {"item_id": item.get("id", ""), "output_index": index}
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        for part in item.get("content") or () if item["type"] == "message" else ():
            for piece in _pieces(part.get("text", "")):
                yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
        for piece in _pieces(item.get("arguments", "")):
            yield event("response.function_call_arguments.delta", **place, delta=piece)
        yield event("response.output_item.done", output_index=index, item=item)
    ending = "incomplete" if body.get("status") == "incomplete" else "completed"
    yield event(f"response.{ending}", response=body)


def _event(kind: str, **more: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | more)}\n\n"


_MADE: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {"messages": _messages, "responses": _responses}
