"""A scripted model: the whole protocol without a provider, for tests and the demo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from tasks.adapters.llm.base import Finish, Message, Reply, ToolCall, ToolSpec, Usage
from tasks.adapters.llm.errors import ScriptExhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call as the model saw it."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    temperature: float | None
    seed: int | None
    sample: int
    max_tokens: int | None

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1].text if self.messages else ""


Step = Reply | str | Exception
"""A reply, its text, or an error to raise."""

Script = Sequence[Step] | Callable[[Asked], Step]


@dataclass(slots=True)
class Scripted:
    """Replays a list in order, or asks a function. `ScriptExhausted` where the list is at its end.

    `asked` holds every call, so that a test can see what a method sent.
    """

    script: Script
    name: str = "scripted"
    asked: list[Asked] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        temperature: float | None = 0.0,
        seed: int | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
    ) -> Reply:
        call = Asked(
            messages=tuple(messages),
            tools=tuple(tools),
            temperature=temperature,
            seed=seed,
            sample=sample,
            max_tokens=max_tokens,
        )
        with self._lock:
            self.asked.append(call)
            number = len(self.asked)
        step = self.script(call) if callable(self.script) else self._step(number)
        if isinstance(step, Exception):
            raise step
        return _counted(step if isinstance(step, Reply) else Reply(text=step), call)

    def finished(self) -> bool:
        """Whether every reply of a list was asked for."""
        return callable(self.script) or len(self.asked) >= len(self.script)

    def _step(self, number: int) -> Step:
        assert not callable(self.script)
        if number > len(self.script):
            raise ScriptExhausted(
                f"{self.name} was asked {number} times and its script has {len(self.script)} replies",
                hint="record more replies, or find out why the method asks again",
            )
        return self.script[number - 1]


def calling(name: str, *, call_id: str = "call_1", text: str = "", **arguments: object) -> Reply:
    """A reply that calls one tool."""
    call = ToolCall(call_id=call_id, name=name, arguments=json.dumps(arguments))
    return Reply(text=text, tool_calls=(call,), finish_reason=Finish.TOOL_CALLS)


def _counted(reply: Reply, call: Asked) -> Reply:
    """With usage where the script gives none: four characters are a token, as a rule of thumb."""
    if reply.usage != Usage():
        return reply
    sent = sum(len(message.text) for message in call.messages)
    made = len(reply.text) + sum(len(one.arguments) for one in reply.tool_calls)
    return replace(reply, usage=Usage(prompt=sent // 4, completion=made // 4, cached=0), cost_usd=0.0)
