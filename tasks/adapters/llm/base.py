"""The model protocol: requests of methods and replies of models.

A method gets only a `Model` from this package; keys, prices, cache, budgets and rows are hidden behind it. When a call
returns, its reply is paid for or replayed, and stored. A failing call raises an error of `errors.py`; provider failures
never count against a candidate.
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
    """Why the model stopped; one vocabulary for all providers."""

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
    """A tool call that the model requests."""

    call_id: str
    name: str
    arguments: str
    """JSON text exactly as the model wrote it; it may be invalid."""

    def parsed(self) -> Mapping[str, Any] | None:
        """Return the arguments; None if they are not a JSON object."""
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
    """Calls that an `assistant` message makes."""
    tool_call_id: str = ""
    """Id of the call that a `tool` message answers."""
    native: str = ""
    """In an `assistant` message, the same as `Reply.native`: sent back to the provider unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; None if it did not report them."""

    prompt: int | None = None
    """All prompt tokens, including those in the provider's cache."""
    completion: int | None = None
    """All completion tokens, including hidden reasoning."""
    cached: int | None = None
    """Part of `prompt` that came from the provider's prompt cache."""
    written: int | None = None
    """Part of `prompt` written to the cache at a separate price (Anthropic); None if the provider has no such price."""
    written_for_long: int | None = None
    """Part of `written` that stays in the cache for an hour, at a higher price."""

    @property
    def total(self) -> int | None:
        """Prompt and completion tokens together; None if either is None."""
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
    """The reply of a model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    """Cost of the original call; None if price or tokens are unknown. A replayed reply keeps its cost."""
    seconds: float = 0.0
    """Time from sending to the last byte of the original call, without waiting for limits or other attempts."""
    raw: str = ""
    """The provider's response as JSON text."""
    native: str = ""
    """Content that only the provider can read and that the next call must send back: thinking with signatures,
    encrypted reasoning. JSON text of blocks or items under the name of their dialect. Empty if text and tool calls are
    complete."""
    finish_reason: Finish = Finish.STOP
    cached: bool = False
    """Whether the reply was replayed and cost nothing now."""

    @property
    def message(self) -> Message:
        """The reply as the next message of the conversation."""
        return Message(role=Role.ASSISTANT, text=self.text, tool_calls=self.tool_calls, native=self.native)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Sampling options of a call. None or empty options are not sent: the provider decides."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Limit of the visible reply, without hidden reasoning."""
    reasoning_tokens: int | None = None
    """Tokens for hidden reasoning in addition to `max_tokens`: providers count both against one limit. In the messages
    dialect, also the budget that enables thinking."""
    reasoning_effort: str | None = None
    """The provider's value: `minimal`, `low`, `medium`, `high`."""
    verbosity: str | None = None

    def over(self, other: Options) -> Options:
        """Return these options, with those of `other` where these are not set."""
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
    """Distinguishes repeated calls with equal content: samples 0 to 4 give five replies, and repeating sample 3 replays
    its reply."""
    step: str = ""
    """Step of the method: `judge`, `search`. A sweep may configure another model for it."""

    @property
    def last(self) -> str:
        """Text of the last message."""
        return self.messages[-1].text if self.messages else ""


class Model(Protocol):
    """A language model. Raises `ModelError`s (errors.py). A cut reply counts as a reply unless nothing in it is
    readable."""

    @property
    def name(self) -> str:
        """Name in `data/models.toml`; labels rows and candidates."""
        ...

    def complete(self, question: ModelQuestion) -> Reply: ...


def system(text: str) -> Message:
    return Message(role=Role.SYSTEM, text=text)


def user(text: str) -> Message:
    return Message(role=Role.USER, text=text)


def tool_result(call: ToolCall, text: str) -> Message:
    """Return the message that answers a tool call."""
    return Message(role=Role.TOOL, text=text, tool_call_id=call.call_id)


def _said(mine: Any, other: Any) -> Any:
    return other if mine is None or mine == () else mine


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
