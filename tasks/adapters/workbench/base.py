"""The workbench protocol: everything that a method can do besides asking a model.

It shows the base commit and nothing later. What a method changes stays on its own bench and is thrown away with it;
only the diff leaves, as the candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from tasks.adapters.debugger.session import DebugLimits, DebugSession
from tasks.adapters.sandbox.base import Mount
from tasks.domain.outcome import RunStatus
from tasks.domain.run import CaseOutcome, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line that a search found."""

    path: str
    line: int
    """1-based."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """One command that was run."""

    exit_code: int | None
    """Null where it was ended by a limit."""
    output: str
    """Standard output and error as they came, the middle left out where it is long."""
    timed_out: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """One run of test files on the code as it is on the bench: always the code before the fix."""

    status: RunStatus
    cases: tuple[CaseOutcome, ...]
    log: str
    """What the process printed, the middle left out where it is long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Where a program sees its folders."""

    checkout: PurePosixPath
    outbox: PurePosixPath
    """It may write there; it is no part of the checkout, and thrown away when the program has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of somebody else, such as an agent, and what it needs besides the environment of the tests."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Outranks the variables of the environment."""
    mounts: tuple[Mount, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Path below its outbox → text, written before it starts."""
    writable: Mapping[str, str] = field(default_factory=dict)
    """Place inside → folder below its outbox that is seen there as well: for programs that insist on a place."""
    limits: Limits = field(default_factory=Limits)


class Workbench(Protocol):
    """Raises `InfrastructureError`s where the machine fails; what code under test does is never an error."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file of the base commit."""
        ...

    def base(self, path: str) -> bytes | None:
        """The bytes of a file of the base commit, whatever was written since; null where there is none."""
        ...

    def read(self, path: str) -> str | None:
        """A file as it is now; null where there is none, or none that is text."""
        ...

    def write(self, path: str, text: str | None) -> None:
        """Writes a file, or removes it where `text` is null. `BadInput` for a path that leaves the tree."""
        ...

    def search(self, text: str, *, under: str = "", limit: int = 50) -> tuple[Hit, ...]:
        """Lines of text files that hold `text`, in order of paths."""
        ...

    def run(self, argv: Sequence[str], *, timeout_s: float = 120.0) -> CommandResult:
        """Runs a command at the root of the checkout, in the environment of the tests, without a network. Files that
        it changes stay changed."""
        ...

    def run_tests(self, files: Sequence[str], cases: Sequence[str] = ()) -> Tested:
        """Runs test files with the repository's own runner, on a fresh checkout with what was changed so far. Where
        `cases` are named, the files are collected and none but these cases run; what else they tell of is left out."""
        ...

    def debug(self, path: str, case_id: str, limits: DebugLimits | None = None) -> AbstractContextManager[DebugSession]:
        """One case of a test file under the debugger, on a fresh checkout with what was changed so far; what is changed
        later is not in it. `DebugSession.start` comes first."""
        ...

    def diff(self) -> str:
        """What was changed so far, as a unified diff against the base commit; empty for nothing."""
        ...

    def fork(self) -> AbstractContextManager[Workbench]:
        """A bench of its own that starts as this one is now, and is thrown away."""
        ...
