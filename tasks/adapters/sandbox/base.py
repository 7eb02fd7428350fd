"""The sandbox protocol, a job and its result.

Every implementation fulfills this contract (tests/adapters/sandbox/test_conformance.py):

- a timeout kills the whole process tree and keeps the partial log;
- no silent retries;
- output is capped, and the log marks the cut;
- results leave as files in writable mounts, never by standard output;
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
"""Path of the checkout inside every sandbox that can choose paths."""

CPYTHON = "cpython-"
"""Prefix of the content names of interpreters; the version follows."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder or file and its path inside."""

    host: Path
    guest: PurePosixPath
    writable: bool = False
    content: str = ""
    """Name of immutable content (`cpython-3.9.18`, `environment-<env_id>`): a sandbox may mount a cached copy. Empty
    for anything else."""

    @property
    def hidden(self) -> tuple[Path, ...]:
        """Host folders below it that every sandbox shows empty: an interpreter's own packages."""
        return own_packages(self.host) if self.content.startswith(CPYTHON) else ()


def own_packages(interpreter: Path) -> tuple[Path, ...]:
    """Return the folders of packages installed into an interpreter itself.

    Environments do not need them, and they may contain a later release of a project under test.
    """
    return tuple(sorted(interpreter.glob("lib/python*/site-packages")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One process to run. The caller substitutes paths such as `{testbed}`: see `Sandbox.guest`."""

    argv: tuple[str, ...]
    checkout: Path
    """Host folder, writable inside; the caller deletes it afterwards."""
    base: Path | None = None
    """Host folder shown below the checkout, never written. Only if `Sandbox.overlays`.

    It belongs to the caller. The checkout must be on the file system of the sandbox's private folders.
    """
    outbox: Path
    """Host folder, writable inside at `Sandbox.guest(job.outbox)`, for the report."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The complete environment: nothing is inherited. The sandbox sets HOME, TMPDIR and PATH unless given."""
    mounts: tuple[Mount, ...] = ()
    """Further read-only mounts: the environment, the interpreter, our runner."""
    limits: Limits = field(default_factory=Limits)
    log: Path
    """Host file for standard output and error, interleaved."""
    network: bool = False
    python: str = ""
    """Minor version of the mounted CPython, `3.9`, by which a sandbox may choose its system. Empty for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result of a job."""

    exit_code: int | None
    """None if we killed it; negative if a signal ended it."""
    timed_out: bool
    limit: str
    """The limit that ended it: `memory`, `processes`, `disk`, `files`; empty if none did."""
    log_truncated: bool
    wall_s: float
    cpu_s: float | None
    """User plus system seconds of the whole tree, including reaped children."""
    image: str = ""
    """Digest of its container image, `sha256:…`; empty without an image."""


class Sandbox(Protocol):
    """Runs jobs. Raises `SandboxError` if the sandbox itself fails; a failing program returns a `Finished`."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def isolates(self) -> bool:
        """Whether untrusted code may run in it."""
        ...

    def overlays(self, bases: Path) -> bool:
        """Whether a job may have a `base` in the folder `bases`. Tested once per combination of `bases` and private
        folder."""
        ...

    def guest(self, job_path: Path, *, checkout: Path, outbox: Path) -> PurePosixPath:
        """Return the path inside of a path below a job's checkout or outbox."""
        ...

    def run(self, job: Job) -> Finished: ...

    def sweep(self) -> int:
        """Remove leftovers of dead flows; return their number."""
        ...
