"""Watches one job in its container to its end: output, time, and limits that an engine does not name.

The engine enforces its own limits. This module checks usage twenty times a second, so that the result names the limit.
The same job thus ends the same way as in the other sandboxes.
"""

from __future__ import annotations

import select
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.adapters.sandbox.base import Job
from tasks.adapters.sandbox.docker.cgroup import Cgroup
from tasks.adapters.sandbox.supervisor import tree
from tasks.adapters.sandbox.supervisor.disk import DISK, DiskMeter
from tasks.adapters.sandbox.supervisor.log import CHUNK, CappedLog
from tasks.domain.errors import SandboxError

HEADER = 8
"""Bytes before each frame of a container's output."""

TICK_S = 0.05
SHARE = 20
"""Checks take at most one part in this many of the time, but:"""

LONGEST_S = 1.0
"""checks are never further apart than this, even on a machine that a fork bomb slows down."""

MIB = 1 << 20
WALL = "wall"
OWN_TASKS = 2
"""The container's init and its holder."""

START_S = 60.0
"""Time limit for the start of the process."""

STARTER = 'echo && read -r _ && exec "$0" "$@" 2>&1 </dev/null'
"""Shell script that becomes the job: signals its start, waits for a line, and merges standard error into output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnd:
    """Observations of a job until it ended or was killed."""

    limit: str
    """`wall`, `memory`, `processes`, `disk`, `files`; empty if it ended by itself."""
    wall_s: float
    cpu_s: float
    log_truncated: bool


class ContainerWatch:
    """One running job. `stream` is the socket of its output, which also starts it."""

    def __init__(self, job: Job, stream: socket.socket, cgroup: Cgroup, disk_roots: tuple[str, ...]) -> None:
        self.limits = job.limits
        self.stream = stream
        self.cgroup = cgroup
        self.frames = Frames()
        self.log = CappedLog(str(job.log), job.limits.log_mb * MIB)
        self.disk = DiskMeter(disk_roots, job.limits.disk_mb * MIB)

    def run(self) -> ContainerEnd:
        """Start the job, and watch it until its output ends or a limit is exceeded."""
        try:
            self._await_starter()
            own_cpu_s = self.cgroup.cpu_s()
            self.began = time.monotonic()
            self.due = self.began + TICK_S
            self.stream.sendall(b"\n")
            limit = self._until_over()
            wall_s = time.monotonic() - self.began
            return ContainerEnd(
                limit=limit or self._kernel_limit(),
                wall_s=wall_s,
                cpu_s=max(0.0, self.cgroup.cpu_s() - own_cpu_s),
                log_truncated=self.log.dropped > 0,
            )
        finally:
            self.log.close()

    def late_limit(self, code: int) -> str:
        """Return `disk` or `files` if a failed job may have failed for that limit; else empty."""
        return DISK if code == -signal.SIGXFSZ else self.disk.passed(())

    def _await_starter(self) -> None:
        """Wait for the process. Raises `SandboxError` with the engine's message if it could not start."""
        self.stream.settimeout(START_S)
        said = b""
        while data := self.stream.recv(CHUNK):
            said += b"".join(self.frames.feed(data))
            if said.startswith(b"\n"):
                return
        text = said.decode(errors="replace").strip() or "the container ended before the job began"
        raise SandboxError(f"docker: {text}", hint="see `swt doctor`")

    def _until_over(self) -> str:
        while self._copy():
            if limit := self._passed():
                return limit
        return ""

    def _copy(self) -> bool:
        """Wait for output or the next check; copy the output; return False at its end."""
        last = self.began + self.limits.wall_s
        pause = max(0.0, min(self.due, last) - time.monotonic())
        if not select.select([self.stream], [], [], pause)[0]:
            return True
        data = self.stream.recv(CHUNK)
        for piece in self.frames.feed(data):
            self.log.keep(piece)
        return bool(data)

    def _passed(self) -> str:
        now = time.monotonic()
        if now - self.began >= self.limits.wall_s:
            return WALL
        if now < self.due:
            return ""
        limit = self._look()
        after = time.monotonic()
        self.due = after + min(max(TICK_S, SHARE * (after - now)), LONGEST_S)
        return limit

    def _look(self) -> str:
        if limit := self._kernel_limit():
            return limit
        pids = self.cgroup.pids()
        if _tasks(pids) > OWN_TASKS + self.limits.processes:
            return "processes"
        ceiling = self.limits.memory_mb * MIB
        if tree.memory(_members(pids), ceiling) > ceiling:
            return "memory"
        return self.disk.over(pids)

    def _kernel_limit(self) -> str:
        """Return the limit at which the kernel refused something: a job can exceed it between two checks."""
        if self.cgroup.oom_kills():
            return "memory"
        return "processes" if self.cgroup.refused_forks() else ""


def _members(pids: list[int]) -> list[tree.Member]:
    return [process for process in map(tree.member, pids) if process is not None]


def _tasks(pids: list[int]) -> int:
    return sum(process.threads for process in _members(pids))


class Frames:
    """Splits the output stream of a container into the data of its process; pieces may have any size.

    Each frame has a header of eight bytes (Docker's API, "Attach to a container").
    """

    def __init__(self) -> None:
        self._header = b""
        self._due = 0
        """Missing bytes of the current frame."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the payload in `data` in pieces."""
        while data:
            if not self._due:
                missing = HEADER - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) < HEADER:
                    return
                self._due = int.from_bytes(self._header[4:], "big")
                self._header = b""
                continue
            piece, data = data[: self._due], data[self._due :]
            self._due -= len(piece)
            yield piece
