"""How a scripted model has a real agent run a command, whatever that agent calls its shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.adapters.agents.mini_swe_agent import SUBMIT
from tasks.adapters.llm.base import Role, ToolSpec
from tasks.adapters.llm.dialects.spoken import ClientRequest

WRITE_TEST = "printf 'def test_issue():\\n    assert False\\n' > tests/test_issue.py"
COMMANDS = ("ls", WRITE_TEST, SUBMIT)
"""The last is for mini-swe-agent alone; the others end with a reply that calls nothing."""
SHELLS = ("Bash", "bash", "shell", "shell_command", "exec_command", "local_shell")
ENDED_BY_COMMAND = "bash"


@dataclass(frozen=True, slots=True)
class ShellCall:
    """A call of a tool: its name and its arguments."""

    name: str
    arguments: dict[str, Any]


def turn_of(call: ClientRequest) -> int:
    """How many tools have answered so far."""
    return sum(message.role is Role.TOOL for message in call.messages)


def next_command(call: ClientRequest) -> ShellCall | None:
    """The next of `COMMANDS`; null where the agent has no shell, or is to be told that all is done."""
    turn = turn_of(call)
    shell = next((tool for tool in call.tools if tool.name in SHELLS), None)
    if shell is None or (turn >= COMMANDS.index(SUBMIT) and shell.name != ENDED_BY_COMMAND):
        return None
    return ShellCall(shell.name, _arguments(shell, COMMANDS[min(turn, len(COMMANDS) - 1)]))


def _arguments(shell: ToolSpec, command: str) -> dict[str, Any]:
    """The command under whatever name the shell's parameter has."""
    known: Mapping[str, Any] = shell.parameters.get("properties") or {}
    name = "cmd" if "cmd" in known else "command"
    listed = (known.get(name) or {}).get("type") == "array"
    given: dict[str, Any] = {name: ["bash", "-lc", command] if listed else command}
    return given | ({"description": "look"} if "description" in known else {})
