"""A client's call, independent of the dialect; all three dialects are parsed into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.adapters.llm.base import Message, Reply, ToolSpec
from tasks.domain.errors import BadInput


class NotUnderstood(BadInput):
    """The caller sent something that cannot be passed on; the message is for the caller."""

    slug = "not-understood"


class NotAReply(ValueError):
    """A provider's response does not conform to its dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """One call of a client."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters, as in the chat dialect."""
    stream: bool = False
    free_form: frozenset[str] = frozenset()
    """Tools that take plain text instead of JSON; they are passed on with one argument, `input`."""
    with_usage: bool = False
    """Whether a streamed chat answer ends with its usage."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The original body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that affect a reply."""


@dataclass(frozen=True, slots=True)
class SpokenAnswer:
    """A reply to render for a caller."""

    reply: Reply
    spoken: ClientRequest
    answer_id: str
    """Unique among answers."""
    created: int
    """Seconds since the epoch."""
    body: Mapping[str, Any] | None = None
    """The provider's own response, if it is in the caller's dialect."""


def fields(value: object, what: str) -> Mapping[str, Any]:
    """Return `value`. Raises `NotUnderstood` if it is not an object."""
    if not isinstance(value, dict):
        raise NotUnderstood(f"{what} is not an object")
    return value


def items(value: object, what: str) -> Sequence[Any]:
    """Return `value`. Raises `NotUnderstood` if it is not a list."""
    if not isinstance(value, list):
        raise NotUnderstood(f"{what} is not a list")
    return value


def text_of(content: object, what: str, kinds: Sequence[str] = ("text", "input_text", "output_text")) -> str:
    """Return text, or the joined texts of a list of parts. Raises `NotUnderstood` for images and other parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts = []
    for part in items(content, what):
        kind = fields(part, what).get("type")
        if kind not in kinds:
            raise NotUnderstood(f"{what} holds a part of type {kind}; only text is passed on")
        texts.append(str(part.get("text", "")))
    return "\n".join(texts)


MOST_TOKENS = 100_000_000
"""More than any call has. A larger number is an error and would be booked as cost."""


def count(value: object) -> int | None:
    """Return a number of tokens; None if the value is not valid."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def picked(body: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the named parameters that the caller set."""
    return {name: body[name] for name in names if body.get(name) is not None}
