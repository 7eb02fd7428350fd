"""The flow's side of the supervisors: one process forks them; each run has a connection for its order and verdict."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from tasks.adapters.sandbox.base import Finished, Job
from tasks.adapters.sandbox.label import MARKER, Label
from tasks.adapters.sandbox.scratch import Scratch
from tasks.adapters.sandbox.supervisor.log import CHUNK
from tasks.adapters.sandbox.supervisor.order import LENGTH, ProcessOrder, Verdict, decode_verdict, encode
from tasks.adapters.sandbox.supervisor.overlay import Layers
from tasks.domain.errors import SandboxError

ROOT = Path(__file__).resolve().parents[3]
"""The folder that contains the package `tasks`."""

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from tasks.adapters.sandbox.supervisor.serve import main; main()"
MIB = 1 << 20
SHELL_SIGNALS = frozenset(range(129, 193))


def order_for(
    job: Job,
    scratch: Scratch,
    *,
    argv: tuple[str, ...],
    env: dict[str, str],
    cwd: Path,
    own_tasks: int,
    hidden: tuple[str, ...] = (),
    syscalls: bytes = b"",
    nproc: int | None = None,
    layers: Layers | None = None,
) -> ProcessOrder:
    """Return the order for a job: its limits and files, and the command of its sandbox."""
    limits = job.limits
    return ProcessOrder(
        argv=argv,
        env=env,
        cwd=str(cwd),
        log=str(job.log),
        hidden=hidden,
        syscalls=syscalls.hex(),
        shielded=not hidden,
        wall_s=limits.wall_s,
        memory_bytes=limits.memory_mb * MIB,
        tasks=limits.processes,
        own_tasks=own_tasks,
        nproc=nproc,
        disk_bytes=limits.disk_mb * MIB,
        disk_roots=tuple(str(root) for root in (job.checkout, job.outbox, scratch.home, scratch.tmp)),
        log_bytes=limits.log_mb * MIB,
        layers=layers,
    )


class Server:
    """The process that forks supervisors for this one; started on first use, and again if it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._flow = 0
        """Id of the process that started it: a fork needs a server of its own."""

    def connect(self) -> socket.socket:
        """Return a connection to a new supervisor."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            if self._control is None or self._flow != os.getpid():
                self._start()
            try:
                self._hand_over(theirs)
            except OSError:
                self.stop()
                self._start()
                self._hand_over(theirs)
        return ours

    def stop(self) -> None:
        """Wait for the server to end, so that its CPU time and that of its jobs count for this process."""
        if self._process is None or self._control is None or self._flow != os.getpid():
            return
        self._control.close()
        self._process.wait()
        self._control = None

    def _hand_over(self, connection: socket.socket) -> None:
        assert self._control is not None
        socket.send_fds(self._control, [b"."], [connection.fileno()])

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", BOOT, str(ROOT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={MARKER: str(Label.new())},
                start_new_session=True,
            )
        self._flow = os.getpid()
        atexit.register(self.stop)


SERVER = Server()


def supervise(order: ProcessOrder) -> Verdict:
    """Run the job to its end. Raises `SandboxError` if the supervisor is lost. An interrupt of
    this call ends the job."""
    message = encode(order)
    with SERVER.connect() as supervisor:
        try:
            with suppress(ConnectionError):
                supervisor.sendall(len(message).to_bytes(LENGTH, "big") + message)
            answer = _until_closed(supervisor)
        except BaseException:
            with suppress(OSError):
                supervisor.shutdown(socket.SHUT_WR)
                _until_closed(supervisor)
            raise
    verdict = decode_verdict(answer) if answer else "it said nothing"
    if isinstance(verdict, str):
        hint = "see whether the machine ran out of memory or disk"
        raise SandboxError(f"the supervisor of a run ended without a verdict: {verdict}", hint=hint)
    return verdict


def _until_closed(supervisor: socket.socket) -> bytes:
    """Return the supervisor's response; empty if it ended without reading the order."""
    with suppress(ConnectionError):
        return b"".join(iter(lambda: supervisor.recv(CHUNK), b""))
    return b""


def finished(verdict: Verdict, exit_code: int | None) -> Finished:
    """Convert a verdict to a `Finished`."""
    return Finished(
        exit_code=exit_code,
        timed_out=verdict.timed_out,
        limit=verdict.limit,
        log_truncated=verdict.log_truncated,
        wall_s=verdict.wall_s,
        cpu_s=verdict.cpu_s,
    )


def from_shell(code: int | None) -> int | None:
    """Return the exit code for a code in which death by signal n is 128 + n, as from shells, bwrap and Docker.

    A program that itself exits with such a code looks the same.
    """
    return 128 - code if code is not None and code in SHELL_SIGNALS else code
