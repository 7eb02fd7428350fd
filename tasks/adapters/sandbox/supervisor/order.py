"""What the supervisor is told and what it answers: JSON on one connection."""

from __future__ import annotations

import json
from typing import NamedTuple

from tasks.adapters.sandbox.supervisor.overlay import Layers

PROGRAM_MISSING = 127
PROGRAM_REFUSED = 126
"""The exit codes of a program that cannot be started, as shells and `env` have them."""


class ProcessOrder(NamedTuple):
    """One process to start and how far it may go. Paths are the host's."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    log: str
    hidden: tuple[str, ...]
    """Arguments given through a descriptor, `{hidden_fd}` in `argv`: there the job cannot read the host's paths.
    `{report_fd}` in `argv` or here becomes a descriptor whose text comes back in `Verdict.report`."""
    syscalls: str
    """A seccomp program in hexadecimal digits: `{syscalls_fd}` in `hidden` becomes a descriptor that holds it."""
    shielded: bool
    """Whether a process of ours stands between the supervisor and the job, for jobs that kill their parent."""
    wall_s: float
    memory_bytes: int
    tasks: int
    """Processes and threads together, as the kernel counts them."""
    own_tasks: int
    """Tasks of the wrapper itself, not counted against `tasks`."""
    nproc: int | None
    """RLIMIT_NPROC of the job; null where the kernel's count would include strangers."""
    disk_bytes: int
    disk_roots: tuple[str, ...]
    log_bytes: int
    layers: Layers | None = None
    """What is mounted for the job before it starts."""


class Verdict(NamedTuple):
    """How the job ended, as seen from outside."""

    exit_code: int | None
    """Null where the supervisor killed it; negative where a signal ended it."""
    timed_out: bool
    limit: str
    """`memory`, `processes`, `disk`, `files` or empty."""
    log_truncated: bool
    wall_s: float
    cpu_s: float
    report: str


LENGTH = 8
"""Bytes that say how long the order is, before it."""


def encode(message: ProcessOrder | Verdict | str) -> bytes:
    """One JSON value; undecodable names survive as surrogate escapes. A string says why there is no verdict."""
    return json.dumps(message if isinstance(message, str) else message._asdict()).encode("ascii")


def decode_order(data: bytes) -> ProcessOrder:
    """The inverse of `encode` for an order."""
    fields = json.loads(data)
    for name in ("argv", "hidden", "disk_roots"):
        fields[name] = tuple(fields[name])
    fields["layers"] = fields["layers"] and Layers(*fields["layers"])
    return ProcessOrder(**fields)


def decode_verdict(data: bytes) -> Verdict | str:
    """The inverse of `encode` for what a supervisor answers; `ValueError` if `data` is nothing of the kind."""
    answer = json.loads(data)
    return answer if isinstance(answer, str) else Verdict(**answer)
