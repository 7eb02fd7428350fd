"""Writes an agent's trajectory as lines of `RecordedStep` while the agent runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock

from tasks.adapters.llm.base import Message, Reply, Role, ToolCall
from tasks.domain.llm import RecordedStep
from tasks.domain.names import content_key
from tasks.domain.trajectory import TrajectoryStep

SHORT = 2
"""A conversation that shares at most this many messages with an earlier one (such as the system
prompt) is a new one."""
COMMAND = "run"
"""Tool name for commands that an internal method ran."""


@dataclass(slots=True)
class RecordedThread:
    """One conversation so far."""

    number: int
    seen: list[str]
    """Keys of its messages."""
    names: dict[str, str] = field(default_factory=dict)
    """Tool call → name of the tool."""


@dataclass(slots=True)
class Recorder:
    """Writes one file. Thread-safe. Each line is written at once, so a killed run keeps its steps."""

    path: Path
    steps: int = 0
    _threads: list[RecordedThread] = field(default_factory=list)
    _closed: bool = False
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def threads(self) -> int:
        return len(self._threads)

    def asked(self, messages: Sequence[Message], call_key: str, at: datetime) -> int:
        """Record the new messages of a call; return the number of its thread, for `answered`."""
        keys = [_key(message) for message in messages]
        with self._lock:
            thread, known = self._thread(keys)
            for message in messages[known:]:
                self._message(thread, message, call_key, at)
            thread.seen = keys
            return thread.number

    def answered(self, number: int, reply: Reply, call_key: str, at: datetime) -> None:
        with self._lock:
            thread = self._threads[number]
            self._message(thread, reply.message, call_key, at)
            thread.seen.append(_key(reply.message))

    def failed(self, number: int, text: str, call_key: str, at: datetime) -> None:
        with self._lock:
            self._write(number, "error", text, call_key, at)

    def ran(self, number: int, command: str, at: datetime) -> None:
        """Record a command that an internal method ran for its model; the next message has its output."""
        with self._lock:
            given = json.dumps({"command": command}, ensure_ascii=False)
            self._write(number, Role.ASSISTANT, "", "", at, tool=COMMAND, given=given)

    def close(self) -> bytes:
        """Return the whole file and delete it. Later records, of a call that outlives its run, are dropped."""
        with self._lock:
            self._closed = True
            data = self.path.read_bytes() if self.path.exists() else b""
            self.path.unlink(missing_ok=True)
            return data

    def _thread(self, keys: Sequence[str]) -> tuple[RecordedThread, int]:
        """Return the conversation that a call continues and its number of known messages; else a new conversation."""
        best, shared = None, SHORT
        for thread in self._threads:
            common = _common(thread.seen, keys)
            if common == len(thread.seen) or common > shared:
                best, shared = thread, common
        if best is None:
            best, shared = RecordedThread(len(self._threads), []), 0
            self._threads.append(best)
        return best, shared

    def _message(self, thread: RecordedThread, message: Message, call_key: str, at: datetime) -> None:
        thread.names |= {call.call_id: call.name for call in message.tool_calls}
        if message.text or not message.tool_calls:
            name = thread.names.get(message.tool_call_id, "") if message.role is Role.TOOL else ""
            self._write(
                thread.number, message.role, message.text, call_key, at, tool=name, tool_id=message.tool_call_id
            )
        for call in message.tool_calls:
            self._write(
                thread.number,
                message.role,
                "",
                call_key,
                at,
                tool=call.name,
                tool_id=call.call_id,
                given=call.arguments,
            )

    def _write(
        self,
        thread: int,
        role: str,
        text: str,
        call_key: str,
        at: datetime,
        *,
        tool: str = "",
        tool_id: str = "",
        given: str = "",
    ) -> None:
        if self._closed:
            return
        step = RecordedStep(
            position=self.steps,
            thread=thread,
            role=str(role),
            text=text,
            tool=tool,
            arguments=given,
            tool_call_id=tool_id,
            call_key=call_key,
            at=at,
        )
        line = json.dumps(asdict(step) | {"at": at.isoformat()}, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line + "\n")
        self.steps += 1


def steps_in(data: bytes) -> tuple[RecordedStep, ...]:
    """Return the steps of a file, without an incomplete last line."""
    steps = []
    for line in data.decode("utf-8", "surrogatepass").split("\n")[:-1]:
        row = json.loads(line)
        steps.append(RecordedStep(**row | {"at": datetime.fromisoformat(row["at"])}))
    return tuple(steps)


def as_trajectory(steps: Sequence[RecordedStep]) -> tuple[TrajectoryStep, ...]:
    """Convert steps for the audit: prompts, thoughts, commands and outputs.

    A user message after the model's first reply counts as an output: many agents send a command's output as user text.
    """
    spoken: set[int] = set()
    made = []
    for step in steps:
        made.append(TrajectoryStep(role=_audit_role(step, spoken=step.thread in spoken), text=_audit_text(step)))
        if step.role == Role.ASSISTANT:
            spoken.add(step.thread)
    return tuple(made)


def _audit_role(step: RecordedStep, *, spoken: bool) -> str:
    if step.role == Role.ASSISTANT:
        return "command" if step.tool else "thought"
    return "output" if spoken or step.role not in (Role.SYSTEM, Role.USER) else "prompt"


def _audit_text(step: RecordedStep) -> str:
    """Return the text of a step; for a command, the tool's name and its decoded arguments, one per line."""
    if not (step.role == Role.ASSISTANT and step.tool):
        return step.text
    given = ToolCall(call_id="", name=step.tool, arguments=step.arguments).parsed()
    values = [step.arguments] if given is None else [str(value) for value in given.values()]
    return "\n".join([step.tool, *values])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of messages that two conversations share at their start."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _key(message: Message) -> str:
    """Return a key that is equal for a reply and its copy from the agent: ignores outer spaces and JSON formatting."""
    calls = [_spelt(call) for call in message.tool_calls]
    return content_key(str(message.role), message.text.strip(), calls, message.tool_call_id)


def _spelt(call: ToolCall) -> list[str]:
    given = call.parsed()
    text = call.arguments if given is None else json.dumps(dict(given), sort_keys=True)
    return [call.call_id, call.name, text]
