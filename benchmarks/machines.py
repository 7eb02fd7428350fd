"""Machines that share an object store and PostgreSQL, and nothing else: processes with a home, a cache, a temporary and
a scratch folder of their own, on this machine. And what one of them alone, with local files, makes of the same work.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.settings import PROJECT, Settings
from flows.snapshots import import_rows
from tasks.adapters.llm.dialects.spoken import Spoken
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.warehouse import Store
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.rehearsal.services import PostgreSql, Seaweed, postgresql, seaweed

HANGS_S = 1200.0
"""Longer than any machine takes."""
THINKS_S = 0.3
"""The model, for each reply."""
TEST = "diff\ntests/test_more.py\nEOF or end\ndef test_issue():\n    assert False\nend diff"
VERDICTS = "SELECT instance_id, method, grader, solved, reason FROM verdict WHERE snapshot = 'demo' ORDER BY ALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What all machines are asked for."""

    instances: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        told = [part for method in self.methods for part in ("--method", method)]
        told += [part for name in self.instances for part in ("--instances", name)]
        return ["sweep", "--snapshot", SNAPSHOT, "--trusted", "--name", "shared", "--model", "scripted", *told]


@dataclass(slots=True)
class Machine:
    """One, with what only it has."""

    folder: Path
    shared: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def environ(self) -> dict[str, str]:
        own = {"HOME": "home", "TMPDIR": "tmp", "SWT_CACHE": "cache", "SWT_SCRATCH": "scratch"}
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        places = {name: str(self.folder / part) for name, part in own.items()}
        return kept | places | {"SWT_DATABASE": str(self.folder / "swt.duckdb"), "SWT_WORKERS": "2", **self.shared}

    @property
    def log(self) -> Path:
        """Beside the folder, which may be full."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def prepare(self) -> None:
        for name in ("HOME", "TMPDIR"):
            Path(self.environ[name]).mkdir(parents=True, exist_ok=True)
        build_demo_mirror(Settings(cache=self.folder / "cache"))

    def start(self, command: Sequence[str]) -> None:
        argv = [sys.executable, "-c", "from flows.cli import main; main()", *command]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                argv, env=self.environ, cwd=PROJECT, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def at_work(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, what: signal.Signals) -> None:
        assert self.process
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, what)

    def wait(self) -> int:
        """The exit code; one that hangs is killed."""
        assert self.process
        try:
            return self.process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            return self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The services that are shared, and what one machine alone made of the work."""

    folder: Path
    work: Work
    database: PostgreSql
    objects: Seaweed
    expected: bytes
    """The verdict table, as JSON."""
    runs: int


def answer(_: Spoken) -> Step:
    return replace(text_step(TEST), wait_s=THINKS_S)


@contextmanager
def cluster_of(folder: Path, work: Work) -> Iterator[Cluster]:
    """Services that run, and the work done by one machine alone. `NotFound` where a program is missing."""
    with ExitStack() as held:
        database = held.enter_context(postgresql())
        objects = held.enter_context(seaweed(folder / "weed"))
        machine = alone(folder, work)
        runs = len(Store(machine.environ["SWT_STORE"]).run_keys())
        expected = verdicts(machine)
        yield Cluster(folder=folder, work=work, database=database, objects=objects, expected=expected, runs=runs)


def alone(folder: Path, work: Work) -> Machine:
    """One machine with local files and without leases that has done the work."""
    with ScriptedProvider(answer).serve() as url:
        machine = Machine(folder / "alone", {"SWT_STORE": str(folder / "alone/store"), "SWT_SCRIPTED_BASE_URL": url})
        machine.prepare()
        import_rows(settings_of(machine), DEMO / "instances.jsonl", SNAPSHOT)
        machine.start(work.command)
        assert machine.wait() == 0, machine.log.read_text()
    return machine


def settings_of(machine: Machine) -> Settings:
    return Settings(store=machine.environ["SWT_STORE"], database=Path(machine.environ["SWT_DATABASE"]))


def verdicts(machine: Machine) -> bytes:
    settings = settings_of(machine)
    ensure_views(settings.store, settings.database, settings.sql)
    return json.dumps(query(settings.database, VERDICTS).to_pylist()).encode()
