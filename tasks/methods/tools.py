"""Tools that a model calls: each call is answered, and every problem with one is told to the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.adapters.llm.base import Message, ToolCall, ToolSpec, tool_result
from tasks.methods.conversation import Conversation, Unusable

_KINDS = {"string": str, "integer": int}


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool and the function behind it, which gets the arguments by name."""

    spec: ToolSpec
    run: Callable[..., str]


@dataclass(slots=True)
class Toolbox:
    """Remembers what it answered: the same call again shows nothing new."""

    conversation: Conversation
    tools: Mapping[str, ModelTool]
    shown: dict[str, str] = field(default_factory=dict)
    """Call → what was answered, in order."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    def answer(self, calls: Iterable[ToolCall]) -> list[Message]:
        """A message for each call."""
        return [tool_result(call, self._answer(call)) for call in calls]

    def _answer(self, call: ToolCall) -> str:
        try:
            tool, arguments = self._read(call)
        except Unusable as problem:
            self.conversation.wrong(str(problem))
            return problem.detail
        key = f"{call.name} {sorted(arguments.items())}"
        if key in self.shown:
            self.conversation.took("repeated")
            return "You have seen this already. Search for something else, or come to your conclusion."
        self.conversation.took(call.name)
        self.shown[key] = tool.run(**arguments)
        return self.shown[key]

    def _read(self, call: ToolCall) -> tuple[ModelTool, Mapping[str, Any]]:
        if call.name not in self.tools:
            raise Unusable("unknown-tool", f"There is no tool {call.name}. There are {', '.join(self.tools)}.")
        tool, arguments = self.tools[call.name], call.parsed()
        problem = "they are no JSON object" if arguments is None else _misfit(tool.spec, arguments)
        if arguments is None or problem:
            raise Unusable("bad-arguments", f"The arguments of {call.name} do not fit: {problem}.")
        return tool, arguments


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
