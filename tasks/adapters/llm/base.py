"""The model protocol: what a method says to a model, and what comes back.

A method gets a `Model` and nothing else of this package: keys, prices, cache, budgets and rows are behind it. A call
that returns has been paid for (or replayed) and is on disk. A call that raises is one of `errors.py`; whatever the
provider did, it is never the candidate's failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Protocol


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Finish(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the model wants called."""

    call_id: str
    name: str
    arguments: str
    """JSON text exactly as the model wrote it, which may be broken."""

    def parsed(self) -> Mapping[str, Any] | None:
        """The arguments; null where they are not a JSON object."""
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """What an `assistant` message called."""
    tool_call_id: str = ""
    """Which call a `tool` message answers."""
    native: str = ""
    """As `Reply.native`, in an `assistant` message: goes back to the provider as it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; null where it did not say."""

    prompt: int | None = None
    """All tokens sent, those in the provider's cache included."""
    completion: int | None = None
    """All tokens made, hidden reasoning included."""
    cached: int | None = None
    """How many of `prompt` came from the provider's prompt cache."""
    written: int | None = None
    """How many of `prompt` were put into it for a price of their own (Anthropic); null where there is no such thing."""
    written_for_long: int | None = None
    """How many of `written` stay there for an hour, which is dearer still."""

    @property
    def total(self) -> int | None:
        """Tokens sent and made; null where either is."""
        return _sum(self.prompt, self.completion)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt=_sum(self.prompt, other.prompt),
            completion=_sum(self.completion, other.completion),
            cached=_sum(self.cached, other.cached),
            written=_sum(self.written, other.written),
            written_for_long=_sum(self.written_for_long, other.written_for_long),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model answered."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    """What the call cost when it was made; null where price or tokens are unknown. A replayed reply keeps its cost."""
    seconds: float = 0.0
    """From sending to the last byte when the call was made, without waiting for a limiter or another attempt."""
    raw: str = ""
    """The provider's answer as JSON text."""
    native: str = ""
    """What the provider wants to see again in the next call and nobody else can read (thinking and its signatures,
    encrypted reasoning): the answer's blocks or items as JSON text, under the name of their dialect. Empty where text
    and tool calls are all."""
    finish_reason: Finish = Finish.STOP
    cached: bool = False
    """Whether it was replayed, and so cost nothing now."""

    @property
    def message(self) -> Message:
        """The reply as the next message of the conversation."""
        return Message(role=Role.ASSISTANT, text=self.text, tool_calls=self.tool_calls, native=self.native)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a model is to answer. What is null or empty is not said: the provider decides."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Of what is read, hidden reasoning not counted."""
    reasoning_tokens: int | None = None
    """Room for hidden reasoning on top of `max_tokens`: providers count both against one limit. In the messages dialect
    it is also the budget that switches thinking on."""
    reasoning_effort: str | None = None
    """In the provider's words: `minimal`, `low`, `medium`, `high`."""
    verbosity: str | None = None

    def over(self, other: Options) -> Options:
        """These, and the other's where these say nothing."""
        return Options(**{one.name: _said(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)})


UNSAID = Options()
GREEDY = Options(temperature=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """One call as a method makes it."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = GREEDY
    sample: int = 0
    """Tells repeated calls with equal content apart: samples 0 to 4 are five replies, and asking for sample 3 again
    replays it."""
    step: str = ""
    """Which part of the method asks: `judge`, `search`. A sweep may name a model of its own for it."""

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1].text if self.messages else ""


class Model(Protocol):
    """Raises `ModelError`s (errors.py). A reply that is cut is a reply, unless nothing in it can be read."""

    @property
    def name(self) -> str:
        """As in `data/models.toml`: what rows and candidates are labelled with."""
        ...

    def complete(self, question: ModelQuestion) -> Reply: ...


def system(text: str) -> Message:
    return Message(role=Role.SYSTEM, text=text)


def user(text: str) -> Message:
    return Message(role=Role.USER, text=text)


def tool_result(call: ToolCall, text: str) -> Message:
    """The answer to a call of a tool."""
    return Message(role=Role.TOOL, text=text, tool_call_id=call.call_id)


def _said(mine: Any, other: Any) -> Any:
    return other if mine is None or mine == () else mine


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
