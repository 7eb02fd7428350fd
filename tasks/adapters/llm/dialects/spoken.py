"""What a caller said, in no dialect: what all three are read into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.adapters.llm.base import Message, Reply, ToolSpec
from tasks.domain.errors import BadInput


class NotUnderstood(BadInput):
    """The caller said something that cannot be passed on; the message is for them."""

    slug = "not-understood"


class NotAReply(ValueError):
    """A provider's answer is none of its dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """One call."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters, in the words of the chat dialect."""
    stream: bool = False
    free_form: frozenset[str] = frozenset()
    """Tools that take plain text instead of JSON; they are passed on with one argument, `input`."""
    with_usage: bool = False
    """Whether a streamed chat answer ends with its usage."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """All of it, as it was said."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that decide a reply."""


@dataclass(frozen=True, slots=True)
class SpokenAnswer:
    """A reply on its way to a caller."""

    reply: Reply
    spoken: ClientRequest
    answer_id: str
    """Unique among answers."""
    created: int
    """Seconds since the epoch."""
    body: Mapping[str, Any] | None = None
    """The provider's own answer, where it is in the caller's dialect."""


def fields(value: object, what: str) -> Mapping[str, Any]:
    """`value`, which has to be an object."""
    if not isinstance(value, dict):
        raise NotUnderstood(f"{what} is not an object")
    return value


def items(value: object, what: str) -> Sequence[Any]:
    """`value`, which has to be a list."""
    if not isinstance(value, list):
        raise NotUnderstood(f"{what} is not a list")
    return value


def text_of(content: object, what: str, kinds: Sequence[str] = ("text", "input_text", "output_text")) -> str:
    """Text, or the texts of a list of parts. Pictures and the like are refused: nothing here can see them."""
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
"""More than any call has. What says more is nonsense, and would be booked as money."""


def count(value: object) -> int | None:
    """A number of tokens; null where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def picked(body: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The named parameters that the caller gave."""
    return {name: body[name] for name in names if body.get(name) is not None}
