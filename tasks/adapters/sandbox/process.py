"""The process sandbox: a session of its own, a clean environment and limits, but no isolation."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tasks.adapters.sandbox import scratch as folders
from tasks.adapters.sandbox.base import Finished, Job
from tasks.adapters.sandbox.label import MARKER, Label
from tasks.adapters.sandbox.scratch import Scratch, marker_of, scratch
from tasks.adapters.sandbox.supervise import finished, order_for, supervise
from tasks.adapters.sandbox.supervisor import tree
from tasks.domain.errors import SandboxError
from tasks.domain.outcome import SandboxKind

PATH = "/usr/local/bin:/usr/bin:/bin"
WARNING = "The process sandbox isolates nothing: the code under test can read, change and send whatever you can."


@dataclass(frozen=True, slots=True)
class Process:
    """Runs a job as the caller, in the host's file system. For the demo, tests and trusted code."""

    base: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Folder for the private folders of runs."""

    @property
    def kind(self) -> SandboxKind:
        return SandboxKind.PROCESS

    @property
    def isolates(self) -> bool:
        return False

    def overlays(self, bases: Path) -> bool:  # noqa: ARG002 - no overlays here
        return False

    @property
    def warning(self) -> str:
        """One line for the caller to show."""
        return WARNING

    def guest(self, job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
        """Return the host's own path. Raises `ValueError` if it is in neither folder."""
        if not (job_path.is_relative_to(checkout) or job_path.is_relative_to(outbox)):
            raise ValueError(f"{job_path} is neither in the checkout {checkout} nor in the outbox {outbox}")
        return PurePosixPath(job_path)

    def run(self, job: Job) -> Finished:
        _refuse_moved_mounts(job)
        with scratch(self.base) as made:
            env = _environment(job, made)
            order = order_for(job, made, argv=job.argv, env=env, cwd=job.checkout, own_tasks=1)
            try:
                verdict = supervise(order)
            except SandboxError:
                _kill_marked(made.label)
                raise
            finally:
                folders.keep_plain_files(job.outbox)
        return finished(verdict, verdict.exit_code)

    def sweep(self) -> int:
        return folders.sweep(self.base)


def _environment(job: Job, scratch: Scratch) -> dict[str, str]:
    own = {"HOME": str(scratch.home), "TMPDIR": str(scratch.tmp), "PATH": PATH, "LANG": "C.UTF-8"}
    return own | dict(job.env) | {MARKER: str(scratch.label)}


def _refuse_moved_mounts(job: Job) -> None:
    for mount in job.mounts:
        if PurePosixPath(mount.host) != mount.guest:
            raise SandboxError(
                f"the process sandbox cannot show {mount.host} at {mount.guest}",
                hint="mount it at its own path, or use a sandbox that isolates",
            )


def _kill_marked(label: Label) -> None:
    """Kill the processes that a lost supervisor left: all with this run's label, until none is found."""
    for _ in range(100):
        found = [process.pid for process in tree.everyone() if marker_of(process.pid) == str(label)]
        if not found:
            return
        tree.kill(found)
