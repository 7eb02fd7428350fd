"""The steps of a method, in a common form for the logs of all agents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryStep:
    """One message or action. A trajectory is a tuple of steps, in order."""

    role: str
    """`prompt` (input of the method), `thought` (text of the model), `command` (a command or tool call), `output` (its
    result)."""
    text: str
