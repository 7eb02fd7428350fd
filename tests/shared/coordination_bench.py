"""Both backends of coordination, for tests that each of them has to pass: `def test(backend: Backend)`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tasks.adapters.clock import Clock
from tasks.adapters.coordination.interface import Claim, Coordinator, Transaction
from tasks.adapters.coordination.postgres import PostgresSession, SharedCoordinator
from tasks.adapters.coordination.sqlite import LocalCoordinator
from tests.fakes.services import PostgreSql

ROOT = Path(__file__).parents[2]
LEASE_S = 1.0
ADDRESS = "postgresql://"


def open_backend(where: str, scope: str) -> Coordinator:
    """Open the backend as a new process would: `where` is a folder or the address of a database."""
    if where.startswith(ADDRESS):
        return SharedCoordinator(PostgresSession(where, lease_s=LEASE_S), scope)
    return LocalCoordinator(Path(where) / scope)


@dataclass(frozen=True, slots=True)
class TimedCoordinator:
    """A coordinator by the clock of a test."""

    inner: Coordinator
    clock: Clock

    @contextmanager
    def claim(self, name: str, *, wait: bool, patience_s: float = 0.0) -> Iterator[Claim | None]:
        with self.inner.claim(name, wait=wait, patience_s=patience_s) as claim:
            yield claim

    @contextmanager
    def transaction(self, table: str) -> Iterator[Transaction]:
        with self.inner.transaction(table) as opened:
            timed: Any = opened
            yield replace(timed, now=self.clock.now().timestamp())


@dataclass
class Backend:
    """Opens coordinators of one piece of work, as several processes or machines would."""

    where: str
    scope: str
    opened: list[Coordinator] = field(default_factory=list)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def open(self, clock: Clock | None = None) -> Coordinator:
        made = open_backend(self.where, self.scope)
        self.opened.append(made)
        return TimedCoordinator(made, clock) if clock else made

    def start(self, code: str, *argv: object) -> subprocess.Popen[str]:
        """Start a process that has `coordinator`, and return when it has printed `ready`. Its `argv` begins at 1."""
        path = [str(ROOT), str(Path(__file__).parent)]
        first = (
            f"import sys; sys.path[:0] = {path}\n"
            f"from coordination_bench import open_backend\ncoordinator = open_backend({self.where!r}, {self.scope!r})\n"
        )
        command = [sys.executable, "-c", first + code, *map(str, argv)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert read_line(process) == "ready"
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            with suppress(ValueError):  # its pipes are closed
                process.communicate()
        for one in self.opened:
            if isinstance(one, SharedCoordinator):
                one.session.close()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def send_line(process: subprocess.Popen[str]) -> None:
    """Let a process go on that reads a line."""
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    where = str(tmp_path)
    if request.param == "postgresql":
        database: PostgreSql = request.getfixturevalue("database")
        where = database.url
    made = Backend(where, f"work-of-{tmp_path.name}")
    yield made
    made.close()
