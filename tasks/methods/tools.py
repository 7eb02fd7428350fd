"""Tools that a model calls: each call is answered, and every problem with one is told to the model; and the loop of a
sub-agent, which calls them until it submits."""

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
    """A tool with arguments that are described one by one: texts, and line numbers where they are called so."""
    schema = {
        key: {"type": "integer" if key.endswith("_line") else "string", "description": text}
        for key, text in properties.items()
    }
    parameters = {"type": "object", "properties": schema, "required": list(required)}
    return ToolSpec(name=name, description=description, parameters=parameters)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool and the function behind it, which gets the arguments by name."""

    spec: ToolSpec
    run: Callable[..., str]
    """May raise `Unusable`, whose detail the model is told."""
    same_again: bool = True
    """Whether the same call would be answered the same. What a debugger is told is never a repetition."""


@dataclass(slots=True)
class Toolbox:
    """Remembers what it answered: the same call again shows nothing new, unless the thread has lost the answer."""

    thread: Thread
    tools: Mapping[str, ModelTool]
    shown: dict[str, str] = field(default_factory=dict)
    """Call → what was answered, in order."""

    _now: set[str] = field(default_factory=set, init=False)
    """Calls that were answered since the thread's last message."""

    @property
    def conversation(self) -> Conversation:
        return self.thread.conversation

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    def answer(self, calls: Iterable[ToolCall]) -> list[Message]:
        """A message for each call."""
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
    """What the arguments come to. `Unusable` is told to the model, which goes on."""


def work_until_submitted(
    thread: Thread, tools: Mapping[str, ModelTool], submission: SubmitTool[Value], *, reminder: str
) -> Value | None:
    """What a sub-agent submits after calling tools as it likes. Null where its conversation's budget is used up before,
    or where its messages no longer fit into the model's context; the conversation's branches say which.

    A reply without a call is answered with `reminder`. Of several submissions in one reply the first counts.
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
    """What is wrong with arguments, held against the tool's schema; empty if nothing is."""
    schema = spec.parameters
    if missing := [one for one in schema["required"] if not arguments.get(one)]:
        return f"{', '.join(missing)} must be given"
    for key, value in arguments.items():
        if key not in schema["properties"]:
            return f"{key} is unknown"
        if not isinstance(value, _KINDS[schema["properties"][key]["type"]]):
            return f"{key} must be a {schema['properties'][key]['type']}"
    return ""
