"""The conversation of a candidate, step by step, as its method's notes or the gateway have it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.adapters.llm.gateway.recorder import steps_in
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import RecordedStep
from tasks.report.prose import TextPiece, pieces

LONGEST = 20_000
"""Characters of one step that are shown."""
MOST = 400
"""Steps that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkStep:
    """One step as it is shown."""

    position: int
    thread: int
    role: str
    tool: str
    pieces: tuple[TextPiece, ...]
    command: str
    """What a tool is called with."""
    left_out: int
    """Characters that are not shown."""

    @property
    def size(self) -> int:
        return sum(len(one.text) for one in self.pieces) + len(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    steps: tuple[TalkStep, ...]
    total: int
    trouble: str = ""
    """Why it cannot be shown; empty where it can."""


def conversation(store: Store, trajectory: str) -> Talk:
    """The steps of a trajectory, by its SHA-256. A file that is lost or torn is said, and ends nothing."""
    try:
        with store.open_file(trajectory) as file:
            steps = steps_in(file.read())
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Talk(steps=(), total=0, trouble=f"{type(error).__name__}: {error}")
    return Talk(steps=_shown(steps[:MOST]), total=len(steps))


def _shown(steps: Sequence[RecordedStep]) -> tuple[TalkStep, ...]:
    return tuple(
        TalkStep(
            position=step.position,
            thread=step.thread,
            role=step.role,
            tool=step.tool,
            pieces=pieces(step.text[:LONGEST]),
            command=_command(step.arguments)[:LONGEST],
            left_out=max(0, len(step.text) - LONGEST) + max(0, len(step.arguments) - LONGEST),
        )
        for step in steps
    )


def _command(arguments: str) -> str:
    """The command itself where that is all that a tool is called with."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return arguments
    if isinstance(given, dict) and len(given) == 1 and isinstance(value := next(iter(given.values())), str):
        return value
    return arguments
