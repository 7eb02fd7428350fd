"""The sandbox protocol, and what goes in and comes out.

The contract that every implementation keeps (tests/adapters/sandbox/test_conformance.py):

- a timeout kills the whole process tree and keeps the partial log;
- nothing is retried silently;
- output is capped, and the log says where it was cut;
- what leaves is files in writable mounts, never standard output;
- a killed flow leaves no process, mount or folder behind: `sweep()` removes them at the next start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Limits

TESTBED = PurePosixPath("/testbed")
"""Where the checkout is seen, in every sandbox that can choose."""

CPYTHON = "cpython-"
"""How the names of the contents of interpreters begin; the version follows."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder or file and where it is seen inside."""

    host: Path
    guest: PurePosixPath
    writable: bool = False
    content: str = ""
    """Name of what is there, where that never changes (`cpython-3.9.18`, `environment-<env_id>`): a sandbox may show
    a copy that it has kept. Empty for anything else."""

    @property
    def hidden(self) -> tuple[Path, ...]:
        """Host folders below it that no sandbox shows the contents of: an interpreter's own packages."""
        return own_packages(self.host) if self.content.startswith(CPYTHON) else ()


def own_packages(interpreter: Path) -> tuple[Path, ...]:
    """Folders of what people installed into the interpreter at this folder itself.

    Environments do not need them, and a later release of a project that is under test may be among them.
    """
    return tuple(sorted(interpreter.glob("lib/python*/site-packages")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One process to run. `{testbed}`-style substitution is the caller's: see `Sandbox.guest`."""

    argv: tuple[str, ...]
    checkout: Path
    """Host folder, writable inside, thrown away afterwards by the caller."""
    base: Path | None = None
    """Host folder, seen in the checkout where that has nothing of its own; never written. It belongs to the caller, and
    the checkout is on the file system of the sandbox's private folders. Only where `Sandbox.overlays`."""
    outbox: Path
    """Host folder, writable inside, seen at `Sandbox.guest(job.outbox)`: where the report is written."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The whole environment: nothing is inherited. HOME, TMPDIR and PATH are the sandbox's own unless set."""
    mounts: tuple[Mount, ...] = ()
    """Read-only extras: the environment, the interpreter, our runner."""
    limits: Limits = field(default_factory=Limits)
    log: Path
    """Host file that receives standard output and error, interleaved."""
    network: bool = False
    python: str = ""
    """Minor version of the CPython that is mounted, `3.9`: a sandbox may choose its system by it. Empty for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How the process ended."""

    exit_code: int | None
    """Null where it was killed by us; negative where a signal ended it."""
    timed_out: bool
    limit: str
    """`memory`, `processes`, `disk`, `files` where that limit ended it; empty otherwise."""
    log_truncated: bool
    wall_s: float
    cpu_s: float | None
    """User plus system seconds of the whole tree, reaped children included."""
    image: str = ""
    """Digest of the container image that it ran in, `sha256:…`; empty where there was none."""


class Sandbox(Protocol):
    """Raises `SandboxError` where the sandbox itself fails; a failing program is a `Finished`."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def isolates(self) -> bool:
        """Whether code that is not trusted may run in it."""
        ...

    def overlays(self, bases: Path) -> bool:
        """Whether a job may have a `base` in the folder `bases`: tried once for each, and for each of private ones."""
        ...

    def guest(self, job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
        """Where a path below the checkout or the outbox of a job is seen inside."""
        ...

    def run(self, job: Job) -> Finished: ...

    def sweep(self) -> int:
        """Remove what dead flows left behind; the number of things removed."""
        ...
