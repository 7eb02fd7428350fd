"""The debugger as a sub-agent's tool: a command in, an answer out, and all of it in the attempt's journal."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType

from tasks.adapters.debugger.session import DebugAnswer, DebugSession
from tasks.adapters.workbench.base import Workbench
from tasks.methods.replay_log import ReplayLog
from tasks.methods.tools import ModelTool, tool_spec

SPEC = tool_spec(
    "debugger",
    "One command to a debugger that is stopped in the failing test: s, n, r, c, b [LINE | FILE:LINE | FUNCTION[, "
    "CONDITION]], p EXPR, pp EXPR, whatis EXPR, args, locals(), globals(), l, l., ll, w, u, d, restart.",
    ["command"],
    command="As it would be typed.",
)


@dataclass(slots=True)
class CaseDebugger:
    """One test under the debugger. The sandbox starts with the first command whose answer the journal does not have;
    what was told before is then told again, so that the test stands where it stood."""

    bench: Workbench
    path: str
    case_id: str
    journal: ReplayLog
    name: str
    """In the journal."""
    said: list[str] = field(default_factory=list)
    _session: DebugSession | None = None
    _folders: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> CaseDebugger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session = None
        self._folders.close()

    @property
    def tool(self) -> ModelTool:
        return ModelTool(SPEC, self.command, same_again=False)

    def start(self) -> str:
        """Where the test stops first."""
        return self.command("restart")

    def command(self, command: str) -> str:
        """The answer to one command. Raises `SandboxError` where the sandbox fails."""
        self.said.append(command)
        answer: str = self.journal.once(f"{self.name} {len(self.said)}", command, lambda: self._ask(command))
        return answer

    def _ask(self, command: str) -> str:
        if self._session is not None:
            return _shown(self._session.command(command))
        self._session = self._folders.enter_context(self.bench.debug(self.path, self.case_id))
        answer = self._session.start()
        for earlier in self.said[1:]:
            answer = self._session.command(earlier)
        return _shown(answer)


def _shown(answer: DebugAnswer) -> str:
    where = f"{answer.path}:{answer.line} in {answer.function}" if answer.path else ""
    ended = f", the test: {answer.outcome}" if answer.outcome else ""
    printed = [f"Printed meanwhile:\n{answer.printed}"] if answer.printed.strip() else []
    return "\n".join([answer.text, f"[{answer.state.value}{f' at {where}' if where else ''}{ended}]", *printed])
