"""A scripted model: the whole protocol without a provider, for tests and the demo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from tasks.adapters.llm.base import Finish, ModelQuestion, Reply, ToolCall, Usage
from tasks.adapters.llm.errors import ScriptExhausted

Step = Reply | str | Exception
"""A reply, its text, or an error to raise."""

Script = Sequence[Step] | Callable[[ModelQuestion], Step]


@dataclass(slots=True)
class Scripted:
    """Replays a list in order, or asks a function. `ScriptExhausted` where the list is at its end.

    `asked` holds every call, so that a test can see what a method sent.
    """

    script: Script
    name: str = "scripted"
    asked: list[ModelQuestion] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def complete(self, question: ModelQuestion) -> Reply:
        with self._lock:
            self.asked.append(question)
            number = len(self.asked)
        step = self.script(question) if callable(self.script) else self._step(number)
        if isinstance(step, Exception):
            raise step
        return _counted(step if isinstance(step, Reply) else Reply(text=step), question)

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


def _counted(reply: Reply, question: ModelQuestion) -> Reply:
    """With usage where the script gives none: four characters are a token, as a rule of thumb."""
    if reply.usage != Usage():
        return reply
    sent = sum(len(message.text) for message in question.messages)
    made = len(reply.text) + sum(len(one.arguments) for one in reply.tool_calls)
    return replace(reply, usage=Usage(prompt=sent // 4, completion=made // 4, cached=0), cost_usd=0.0)
