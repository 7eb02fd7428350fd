"""One model call as it is sent: what its content key is made of, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from tasks.adapters.llm.base import Finish, Message, Reply, Role, ToolCall, ToolSpec, Usage
from tasks.domain.names import content_key, jsonable

CHAT: Final = "chat"


class LimitBy(StrEnum):
    """Who limits the length of a reply."""

    MODEL = "model"
    """The model itself, with or without a number that is sent: a reply that it cuts is the model's."""
    EXPERIMENT = "experiment"
    CARD = "card"
    """The options on the model's card."""
    DIALECT = "dialect"
    """This project, in the dialect that wants a number, for a model whose longest reply nobody knows."""
    AGENT = "agent"
    """A third-party agent, for its own call."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """Everything that decides a reply, and nothing else: no key, no address, nobody's name.

    Without slots, so that its keys are made once: a call asks for them a dozen times, over all that was said so far.
    """

    model: str
    """Name in data/models.toml."""
    model_id: str
    """What the provider calls it."""
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    seed: int | None = None
    sample: int = 0
    """Tells calls of equal content apart; it is not sent."""
    max_tokens: int | None = None
    options: str = "{}"
    """Further parameters of the chat dialect (`stop`, `tool_choice`, `reasoning_effort` …) as sorted JSON."""
    dialect: str = CHAT
    """What the provider is asked in."""
    body: str = ""
    """What the caller said in this very dialect, as sorted JSON without model and limit: it is what is sent then, and
    messages, tools and options only tell what stands in it."""
    headers: str = "{}"
    """What the caller's headers switched on (`anthropic-beta`), as sorted JSON."""
    limit_by: LimitBy = field(default=LimitBy.MODEL, compare=False)
    """Who set `max_tokens`. It decides no reply, only whose a reply is that is cut: no part of `facts`."""

    @cached_property
    def call_key(self) -> str:
        return content_key("llm", self.facts())

    @cached_property
    def prompt_hash(self) -> str:
        return content_key("prompt", self.facts()["messages"])

    def facts(self) -> dict[str, Any]:
        """As plain JSON; `request_of` is the inverse. What is said of native calls alone is left out of the others,
        whose replies were kept under this key before there were any."""
        facts: dict[str, Any] = jsonable(asdict(self))
        del facts["limit_by"]
        facts["messages"] = [_without(message, native="") for message in facts["messages"]]
        return _without(facts, dialect=CHAT, body="", headers="{}")


def request_of(facts: Mapping[str, Any]) -> ModelRequest:
    """The request in what `ModelRequest.facts` gave."""
    own = {name: value for name, value in facts.items() if name not in ("messages", "tools")}
    tools = tuple(ToolSpec(**tool) for tool in facts["tools"])
    return ModelRequest(messages=tuple(_message_of(one) for one in facts["messages"]), tools=tools, **own)


def reply_facts(reply: Reply) -> dict[str, Any]:
    """A reply as plain JSON; `reply_of` is the inverse, `cached` aside."""
    facts: dict[str, Any] = jsonable(asdict(reply))
    facts.pop("cached")
    return _without(facts, native="")


def reply_of(facts: Mapping[str, Any], *, cached: bool) -> Reply:
    """The reply in what `reply_facts` gave."""
    own = {name: facts[name] for name in ("text", "cost_usd", "seconds", "raw")}
    return Reply(
        tool_calls=tuple(ToolCall(**call) for call in facts["tool_calls"]),
        usage=Usage(**facts["usage"]),
        finish_reason=Finish(facts["finish_reason"]),
        native=facts.get("native", ""),
        cached=cached,
        **own,
    )


def _message_of(facts: Mapping[str, Any]) -> Message:
    calls = tuple(ToolCall(**call) for call in facts["tool_calls"])
    role, text, answered = Role(facts["role"]), facts["text"], facts["tool_call_id"]
    return Message(role=role, text=text, tool_calls=calls, tool_call_id=answered, native=facts.get("native", ""))


def _without(facts: Mapping[str, Any], **unsaid: str) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in unsaid or value != unsaid[name]}
