"""What a method did, step by step, in a form that every agent's own log can be brought into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryStep:
    """One thing that was said or done. A trajectory is a tuple of these, in order."""

    role: str
    """`prompt` (what the method was told), `thought` (what the model wrote), `command` (what it ran or called),
    `output` (what came back)."""
    text: str
