"""Assembles a streamed reply into the body that the provider would have returned without a stream.

Each dialect has its own events and its own last event. A stream without its last event is not a reply: all three
dialects send the token count last, and a truncated text would look like a short reply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tasks.adapters.llm.dialects.spoken import NotAReply

Event = Mapping[str, Any] | None
"""Data of one event; None for `[DONE]`."""
ASKED: Mapping[str, Mapping[str, Any]] = {
    "chat": {"stream": True, "stream_options": {"include_usage": True}},
    "responses": {"stream": True},
    "messages": {"stream": True},
}
"""Additions to a body so that the reply is streamed and ends with its token count."""
ONCE = ("format", "id", "index", "name", "role", "type")
"""Fields of a chat delta that repeat the same value; the texts of all other fields are concatenated."""


class Unfinished(ValueError):
    """The stream ended before its last event."""


class SaidError(ValueError):
    """The provider sent an error within the stream."""

    def __init__(self, said: Mapping[str, Any], *, begun: bool) -> None:
        super().__init__("the provider said an error in its stream")
        self.said = said
        self.begun = begun
        """Whether part of the reply arrived before the error."""


def assembled(dialect: str, events: Iterable[Event]) -> dict[str, Any]:
    """Return the whole body; reads nothing after the last event.

    Raises `Unfinished`, `SaidError`, or `NotAReply` for events of another dialect.
    """
    try:
        return _ASSEMBLED[dialect](iter(events))
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAReply(f"{type(error).__name__} {error} in its stream") from None
    except RecursionError:
        raise NotAReply("its stream is nested too deep") from None


def is_sign_of_life(event: Event) -> bool:
    """Whether an event is only a keepalive."""
    return event is not None and event.get("type") in ("ping", "keepalive")


class _Pieces(list[str]):
    """A growing text. Concatenating strings would copy the whole text for each delta."""


class _Numbered:
    """A list of items with or without an index."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[int, dict[str, Any]] = {}

    def add(self, item: Any) -> None:
        number = item.get("index") if isinstance(item, dict) else None
        if not isinstance(number, int):
            self.items.append(item)
            return
        if number not in self._places:
            self._places[number] = {}
            self.items.append(self._places[number])
        _grow(self._places[number], item)


def _chat(events: Iterator[Event]) -> dict[str, Any]:
    head: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        if event is None:
            return head | {
                "object": "chat.completion",
                "choices": [_choice(choices[place]) for place in sorted(choices)],
            }
        if event.get("error"):
            raise SaidError(_error(event), begun=bool(choices))
        head |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for choice in event.get("choices") or ():
            _add_choice(choices.setdefault(choice.get("index", 0), {}), choice)
    raise Unfinished


def _add_choice(into: dict[str, Any], choice: Mapping[str, Any]) -> None:
    for name, value in choice.items():
        if name in ("delta", "logprobs") and value is not None:
            _grow(into.setdefault(name, {}), value)
        elif value is not None or name not in into:
            into[name] = value


def _choice(grown: Mapping[str, Any]) -> dict[str, Any]:
    if not grown.get("finish_reason"):
        raise Unfinished
    message = _joined(grown.get("delta") or {})
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    rest = {name: _joined(value) for name, value in grown.items() if name != "delta"}
    return {**rest, "message": {"content": None, **message}}


def _grow(into: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Merge a delta into the accumulated value."""
    for name, value in delta.items():
        if value is None:
            into.setdefault(name, None)
        elif name in ONCE or not isinstance(value, str | list | dict):
            into[name] = into.get(name) or value
        elif isinstance(value, str):
            _grown(into, name, _Pieces).append(value)
        elif isinstance(value, dict):
            _grow(_grown(into, name, dict), value)
        else:
            numbered = _grown(into, name, _Numbered)
            for item in value:
                numbered.add(item)


def _grown(into: dict[str, Any], name: str, kind: Callable[[], Any]) -> Any:
    """Return the accumulator under a name; create one if it is missing or has another type."""
    if not isinstance(into.get(name), kind):  # type: ignore[arg-type]
        into[name] = kind()
    return into[name]


def _joined(grown: Any) -> Any:
    if isinstance(grown, _Pieces):
        return "".join(grown)
    if isinstance(grown, _Numbered):
        return [_joined(item) for item in grown.items]
    if isinstance(grown, dict):
        return {name: _joined(value) for name, value in grown.items()}
    return grown


def _messages(events: Iterator[Event]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        kind = _kind(event)
        if event is None or kind == "error":
            raise SaidError(_error(event or {}), begun=bool(body))
        if kind == "message_start":
            body = _begun(event["message"])
        elif kind == "content_block_start":
            blocks[event["index"]] = {**event["content_block"]}
        elif kind == "content_block_delta":
            _add_to_block(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            _add_to_message(body, event)
        elif kind == "message_stop":
            return _message(body, blocks)
    raise Unfinished


def _begun(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without its token count, which is 1 at the start.

    A server that sends no later count would otherwise book a long reply as one token.
    """
    usage = message.get("usage")
    told = {"usage": {name: value for name, value in usage.items() if name != "output_tokens"}} if usage else {}
    return {**message, **told}


def _add_to_block(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Merge a delta into the block's field of the same name. Two delta types have other names."""
    if delta["type"] == "input_json_delta":
        if not isinstance(block.get("input"), _Pieces):
            block["input"] = _Pieces()
        block["input"].append(delta["partial_json"])
    elif delta["type"] == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    else:
        for name, value in delta.items():
            if name != "type" and isinstance(value, str):
                begun = block.get(name)
                if not isinstance(begun, _Pieces):
                    block[name] = _Pieces([begun] if isinstance(begun, str) else [])
                block[name].append(value)


def _add_to_message(body: dict[str, Any], event: Mapping[str, Any]) -> None:
    usage = {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
    rest = {name: value for name, value in event.items() if name not in ("type", "delta", "usage")}
    begun = body.get("usage")
    body |= {**rest, **event["delta"]}
    if usage or begun:
        body["usage"] = {**(begun or {}), **usage}


def _message(body: dict[str, Any], blocks: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    if not body.get("stop_reason"):
        raise Unfinished
    return body | {"content": [_block(blocks[place]) for place in sorted(blocks)]}


def _block(grown: Mapping[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = {name: _joined(value) for name, value in grown.items() if name != "input"}
    given = grown.get("input")
    if given is not None or "input" in grown:
        block["input"] = _input("".join(given)) if isinstance(given, _Pieces) else given
    return block


def _input(text: str) -> Any:
    """Parse a tool's input. Invalid JSON, cut by the limit on the reply, becomes one argument that no tool accepts."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"_broken": text}


def _responses(events: Iterator[Event]) -> dict[str, Any]:
    """Return the response, which the last event contains as a whole."""
    items: dict[int, Any] = {}
    begun = False
    for event in events:
        kind = _kind(event)
        if event is None or kind == "error":
            raise SaidError(_error(event or {}), begun=begun)
        begun = begun or "output_index" in event
        if kind == "response.output_item.done":
            items[event["output_index"]] = event["item"]
        elif kind in ("response.completed", "response.incomplete"):
            body = {**event["response"]}  # dict() would accept a list of pairs, and raise another error for a string
            # Some servers leave `output` empty here if nothing is stored.
            return body if body.get("output") else body | {"output": [items[place] for place in sorted(items)]}
        elif kind in ("response.failed", "response.cancelled"):
            raise SaidError(_error(event["response"]), begun=begun)
    raise Unfinished


def _kind(event: Event) -> str:
    """Return the type of an event. Proxies send errors without a type, in every dialect."""
    if event and event.get("error"):
        return "error"
    return str(event["type"]) if event else ""


def _error(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the code and message of an error from either place."""
    said = event.get("error")
    if isinstance(said, Mapping):
        return said
    return {"message": said} if isinstance(said, str) else event


_ASSEMBLED: Mapping[str, Callable[[Iterator[Event]], dict[str, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}
