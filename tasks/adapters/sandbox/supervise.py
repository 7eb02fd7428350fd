"""The flow's side of the supervisor: one process per run, an order in, a verdict out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tasks.adapters.sandbox.base import Finished, Job
from tasks.adapters.sandbox.label import MARKER, Label
from tasks.adapters.sandbox.scratch import Scratch
from tasks.adapters.sandbox.supervisor.order import Order, Verdict, decode_verdict, encode
from tasks.domain.errors import SandboxError

ROOT = Path(__file__).resolve().parents[3]
"""The folder that holds the package `tasks`."""

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from tasks.adapters.sandbox.supervisor.main import main; main()"
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
) -> Order:
    """The job's limits and files, around the command that a sandbox made of it."""
    limits = job.limits
    return Order(
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
        parent=os.getpid(),
    )


def supervise(order: Order, label: Label) -> Verdict:
    """Run to the end. `SandboxError` where the supervisor is lost; its job is ended if this call is interrupted."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", BOOT, str(ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={MARKER: str(label)},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(encode(order))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        raise SandboxError(_lost(process.returncode, err), hint="see whether the machine ran out of memory or disk")
    return decode_verdict(out)


def finished(verdict: Verdict, exit_code: int | None) -> Finished:
    """The verdict in the words of the protocol."""
    return Finished(
        exit_code=exit_code,
        timed_out=verdict.timed_out,
        limit=verdict.limit,
        log_truncated=verdict.log_truncated,
        wall_s=verdict.wall_s,
        cpu_s=verdict.cpu_s,
    )


def from_shell(code: int | None) -> int | None:
    """The exit code behind one that reports a death by signal n as 128 + n, as shells, bwrap and Docker do.

    A program that exits with such a code of its own accord looks the same.
    """
    return 128 - code if code is not None and code in SHELL_SIGNALS else code


def _lost(code: int, err: bytes) -> str:
    lines = err.decode(errors="replace").strip().splitlines()
    return f"the supervisor of a run ended with {code}: {lines[-1] if lines else 'it said nothing'}"
