"""Tools that a model calls, and the loop of a sub-agent, which calls them until it submits. Each call gets an answer,
which is the problem if the call is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tasks.adapters.llm.base import Message, ToolCall, ToolSpec, tool_result, user
from tasks.adapters.llm.errors import ContextTooLong
from tasks.methods.conversation import Conversation, OutOfBudget, Thread, Unusable

Value = TypeVar("Value")

_KINDS = {"string": str, "integer": int}


def tool_spec(name: str, description: str, required: Iterable[str], **properties: str) -> ToolSpec:
    """Returns a tool from descriptions of its arguments. Arguments whose name ends with `_line` are integers, others
    are texts."""
    schema = {
        key: {"type": "integer" if key.endswith("_line") else "string", "description": text}
        for key, text in properties.items()
    }
    parameters = {"type": "object", "properties": schema, "required": list(required)}
    return ToolSpec(name=name, description=description, parameters=parameters)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool and its function, which gets the arguments by name."""

    spec: ToolSpec
    run: Callable[..., str]
    """May raise `Unusable`; its detail is sent to the model."""
    same_again: bool = True
    """Whether the same call gives the same answer. A debugger's calls do not, so they never count as repeated."""


@dataclass(slots=True)
class Toolbox:
    """Runs tool calls and remembers the answers. A repeated call gets a short note, unless the thread has lost the
    answer."""

    thread: Thread
    tools: Mapping[str, ModelTool]
    shown: dict[str, str] = field(default_factory=dict)
    """Call → answer, in order."""

    _now: set[str] = field(default_factory=set, init=False)
    """Calls answered since the thread's last message."""

    @property
    def conversation(self) -> Conversation:
        return self.thread.conversation

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    def answer(self, calls: Iterable[ToolCall]) -> list[Message]:
        """Returns a message for each call."""
        self._now.clear()
        return [tool_result(call, self._answer(call)) for call in calls]

    def _answer(self, call: ToolCall) -> str:
        try:
            tool, arguments = self._read(call)
            key = f"{call.name} {sorted(arguments.items())}"
            if key in self._now or (key in self.shown and self.thread.holds(self.shown[key])):
                self.conversation.took("repeated")
                return "You have seen this already. Search for something else, or come to your conclusion."
            self.conversation.took(call.name)
            answer = tool.run(**arguments)
        except Unusable as problem:
            self.conversation.wrong(str(problem))
            return problem.detail
        if tool.same_again:
            self.shown[key] = answer
            self._now.add(key)
        return answer

    def _read(self, call: ToolCall) -> tuple[ModelTool, Mapping[str, Any]]:
        if call.name not in self.tools:
            raise Unusable("unknown-tool", f"There is no tool {call.name}. There are {', '.join(self.tools)}.")
        tool, arguments = self.tools[call.name], call.parsed()
        problem = "they are no JSON object" if arguments is None else _misfit(tool.spec, arguments)
        if arguments is None or problem:
            raise Unusable("bad-arguments", f"The arguments of {call.name} do not fit: {problem}.")
        return tool, arguments


@dataclass(frozen=True, slots=True)
class SubmitTool(Generic[Value]):
    """The tool that ends a sub-agent's work."""

    spec: ToolSpec
    read: Callable[..., Value]
    """Converts the arguments to a value. If it raises `Unusable`, the model gets the problem and continues."""


def work_until_submitted(
    thread: Thread, tools: Mapping[str, ModelTool], submission: SubmitTool[Value], *, reminder: str
) -> Value | None:
    """Run a sub-agent until it submits and return the value. None if the budget is used up or the messages exceed the
    model's context; the conversation's branches tell which.

    A reply without a call is answered with `reminder`. If one reply has several submissions, the first counts.
    """
    taken: list[Value] = []

    def hand_in(**arguments: Any) -> str:
        taken.append(submission.read(**arguments))
        return "Taken."

    conversation, name = thread.conversation, submission.spec.name
    handing_in = ModelTool(submission.spec, hand_in, same_again=False)
    box = Toolbox(thread, {**tools, name: handing_in})
    try:
        while not taken:
            calls = thread.go_on(tools=box.specs).tool_calls
            thread.messages += box.answer(calls) if calls else [user(reminder)]
            if not calls:
                conversation.took("reminded")
    except OutOfBudget:
        return None
    except ContextTooLong:
        if not conversation.calls:
            raise
        conversation.took("context-full")
        return None
    return taken[0]


def _misfit(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """Returns the problem of the arguments by the tool's schema; empty if there is none."""
    schema = spec.parameters
    if missing := [one for one in schema["required"] if not arguments.get(one)]:
        return f"{', '.join(missing)} must be given"
    for key, value in arguments.items():
        if key not in schema["properties"]:
            return f"{key} is unknown"
        if not isinstance(value, _KINDS[schema["properties"][key]["type"]]):
            return f"{key} must be a {schema['properties'][key]['type']}"
    return ""
