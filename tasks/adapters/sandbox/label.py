"""Names of the traces of a run, which identify the leftovers of a dead flow."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tasks.adapters.sandbox.supervisor.tree import member

MARKER = "SWT_SANDBOX"
"""Environment variable with the label in the process sandbox, where nothing else identifies our processes."""

PREFIX = "swt-run-"
"""Prefix of every label."""

_LABEL = re.compile(PREFIX + r"(?P<pid>\d+)-(?P<started>\d+)-(?P<namespace>\d+)-(?P<token>[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Label:
    """One run and the flow that owns it. `str(label)` is its name and `Label.parse` the inverse."""

    pid: int
    started: int
    """Start of the owner in clock ticks since boot: a later process with the same id is not the owner."""
    namespace: int
    """The PID namespace of the owner's id. Containers have their own, even if they share a folder with us or we see
    their processes."""
    token: str

    @staticmethod
    def new() -> Label:
        """Return a label of a run that this process owns."""
        own = member(os.getpid())
        return Label(os.getpid(), own.started if own else 0, _own_namespace(), secrets.token_hex(6))

    @staticmethod
    def parse(text: str) -> Label | None:
        """Parse a label; None if `text` is not one."""
        match = _LABEL.fullmatch(text)
        if match is None:
            return None
        return Label(int(match["pid"]), int(match["started"]), int(match["namespace"]), match["token"])

    def __str__(self) -> str:
        return f"{PREFIX}{self.pid}-{self.started}-{self.namespace}-{self.token}"

    @property
    def foreign(self) -> bool:
        """Whether its owner is in another PID namespace, so that its state is unknown here."""
        return self.namespace != _own_namespace()

    @property
    def orphaned(self) -> bool:
        """Whether the owner is known to be dead."""
        if self.foreign:
            return False
        owner = member(self.pid)
        return owner is None or owner.started != self.started or owner.state in "ZX"


@cache
def _own_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
