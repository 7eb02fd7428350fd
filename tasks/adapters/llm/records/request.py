"""One model call as it is sent, and its content key."""

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
    """The origin of the limit on the length of a reply."""

    MODEL = "model"
    """The model itself, whether the limit is sent or not: a cut reply then counts as the model's."""
    EXPERIMENT = "experiment"
    CARD = "card"
    """The options on the model's card."""
    DIALECT = "dialect"
    """This project's default, for dialects that require a limit, if the model's longest reply is unknown."""
    AGENT = "agent"
    """A third-party agent, for its own call."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """Everything that decides a reply, without key, address or personal names.

    Has no slots, so that its keys are cached: a call uses them a dozen times, over the whole conversation.
    """

    model: str
    """Name in data/models.toml."""
    model_id: str
    """The provider's id of the model."""
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    seed: int | None = None
    sample: int = 0
    """Distinguishes calls of equal content; not sent."""
    max_tokens: int | None = None
    options: str = "{}"
    """Further parameters of the chat dialect (`stop`, `tool_choice`, `reasoning_effort` …) as sorted JSON."""
    dialect: str = CHAT
    """Dialect in which the provider is called."""
    body: str = ""
    """The caller's own body in this dialect, as sorted JSON without model and limit. If set, it is what is sent, and
    messages, tools and options only describe it."""
    headers: str = "{}"
    """Features that the caller's headers enabled (`anthropic-beta`), as sorted JSON."""
    limit_by: LimitBy = field(default=LimitBy.MODEL, compare=False)
    """Origin of `max_tokens`. It affects only the cause of a cut, not the reply, so `facts` omits it."""

    @cached_property
    def call_key(self) -> str:
        return content_key("llm", self.facts())

    @cached_property
    def prompt_hash(self) -> str:
        return content_key("prompt", self.facts()["messages"])

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values; `request_of` is the inverse.

        Fields of native calls are left out of other calls, so that replies stored before these fields existed keep
        their key.
        """
        facts: dict[str, Any] = jsonable(asdict(self))
        del facts["limit_by"]
        facts["messages"] = [_without(message, native="") for message in facts["messages"]]
        return _without(facts, dialect=CHAT, body="", headers="{}")


def request_of(facts: Mapping[str, Any]) -> ModelRequest:
    """Return the request from the output of `ModelRequest.facts`."""
    own = {name: value for name, value in facts.items() if name not in ("messages", "tools")}
    tools = tuple(ToolSpec(**tool) for tool in facts["tools"])
    return ModelRequest(messages=tuple(_message_of(one) for one in facts["messages"]), tools=tools, **own)


def reply_facts(reply: Reply) -> dict[str, Any]:
    """Return a reply as plain JSON values; `reply_of` is the inverse, except for `cached`."""
    facts: dict[str, Any] = jsonable(asdict(reply))
    facts.pop("cached")
    return _without(facts, native="")


def reply_of(facts: Mapping[str, Any], *, cached: bool) -> Reply:
    """Return the reply from the output of `reply_facts`."""
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
