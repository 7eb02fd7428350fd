"""Names for what a run leaves on the machine, by which the leftovers of a dead flow are recognised."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass

from tasks.adapters.sandbox.supervisor.tree import member

MARKER = "SWT_SANDBOX"
"""Environment variable that holds the label in the process sandbox, where nothing else tells our processes apart."""

PREFIX = "swt-run-"
"""What every label begins with."""

_LABEL = re.compile(PREFIX + r"(?P<pid>\d+)-(?P<started>\d+)-(?P<token>[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Label:
    """One run and the flow that owns it. `str(label)` is its name and `Label.parse` the inverse."""

    pid: int
    started: int
    """Start of the owner in clock ticks since boot: a later process with the same id is not the owner."""
    token: str

    @staticmethod
    def new() -> Label:
        """A label of a run that this process owns."""
        own = member(os.getpid())
        return Label(os.getpid(), own.started if own else 0, secrets.token_hex(6))

    @staticmethod
    def parse(text: str) -> Label | None:
        """The label that `text` is, if it is one."""
        match = _LABEL.fullmatch(text)
        return Label(int(match["pid"]), int(match["started"]), match["token"]) if match else None

    def __str__(self) -> str:
        return f"{PREFIX}{self.pid}-{self.started}-{self.token}"

    @property
    def orphaned(self) -> bool:
        """Whether the owner is gone."""
        owner = member(self.pid)
        return owner is None or owner.started != self.started or owner.state in "ZX"
