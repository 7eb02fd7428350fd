"""Machines that share an object store and PostgreSQL, and nothing else: processes with a home, a cache, a temporary and
a scratch folder of their own, on this machine. And what one of them alone, with local files, makes of the same work.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.interface.settings import PROJECT, Settings
from flows.snapshots import import_rows
from tasks.adapters.llm.dialects.spoken import ClientRequest
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import ensure_views, query
from tasks.domain.decoy import Decoy
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.proposed_fix import ProposedFix
from tests.fakes.scripted_provider.script import Step
from tests.fakes.scripted_provider.server import ScriptedProvider, text_step
from tests.fakes.services import PostgreSql, Seaweed, postgresql, seaweed

HANGS_S = 3600.0
"""Longer than any machine takes."""
KEPT = re.compile(r"PATH|LANG|PYENV_ROOT|SWT_INBOX|(PIP|UV|SSL)_\w+|(HTTPS?|ALL|NO)_PROXY", re.IGNORECASE)
"""Variables that say where programs, packages and candidates' files are, for all machines."""
THINKS_S = 0.3
"""The model, for each reply."""
TEST = "diff\ntests/test_more.py\nEOF or end\ndef test_issue():\n    assert False\nend diff"
VERDICTS = "SELECT instance_id, method, grader, solved, fail_to_any, pass_to_pass, reason FROM verdict ORDER BY ALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What all machines are asked for: a sweep of `methods` on instances of the demo."""

    instances: tuple[str, ...]
    methods: tuple[str, ...]
    model: Callable[[ClientRequest], Step] = field(default_factory=lambda: answer)
    """What answers the methods."""

    @property
    def command(self) -> list[str]:
        """Of `swt`."""
        told = ["--snapshot", SNAPSHOT, "--trusted"]
        told += [part for name in self.instances for part in ("--instances", name)]
        told += [part for method in self.methods for part in ("--method", method)]
        return ["sweep", *told, "--name", "shared", "--model", "scripted"]

    def give(self, machine: Machine) -> None:
        """To a store that machines share, or to that of one."""
        import_rows(settings_of(machine), DEMO / "instances.jsonl", SNAPSHOT)


@dataclass(slots=True)
class Machine:
    """One, with what only it has."""

    folder: Path
    shared: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def environ(self) -> dict[str, str]:
        own = {"HOME": "home", "TMPDIR": "tmp", "SWT_CACHE": "cache", "SWT_SCRATCH": "scratch"}
        kept = {name: text for name, text in os.environ.items() if KEPT.fullmatch(name)}
        places = {name: str(self.folder / part) for name, part in own.items()}
        return kept | places | {"SWT_DATABASE": str(self.folder / "swt.duckdb"), "SWT_WORKERS": "2", **self.shared}

    @property
    def log(self) -> Path:
        """Beside the folder, which may be full."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def prepare(self) -> None:
        """Make the folders of this machine, with a mirror of the demo."""
        for name in ("HOME", "TMPDIR"):
            Path(self.environ[name]).mkdir(parents=True, exist_ok=True)
        build_demo_mirror(Settings(cache=self.folder / "cache"))

    def start(self, command: Sequence[str]) -> None:
        """Work on a command of `swt`."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from flows.interface.cli import main; main()", *command],
                env=self.environ,
                cwd=PROJECT,
                stdout=log,
                stderr=log,
                start_new_session=True,
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
    calls: int
    """That were answered by the model."""
    cpu_s: float
    """That this took, of all its processes."""

    def give(self, machine: Machine) -> None:
        """The instances, and the decoys that one machine drew: with others there would be another number of runs."""
        self.work.give(machine)
        alone, shared = Store(str(self.folder / "alone/store")), Store(machine.shared["SWT_STORE"])
        decoys = alone.read(Decoy)
        shared.write(alone.read(ProposedFix, fix_id=tuple(decoy.fix_id for decoy in decoys)))
        shared.write(decoys)


def answer(_: ClientRequest) -> Step:
    return replace(text_step(TEST), wait_s=THINKS_S)


@contextmanager
def cluster_of(folder: Path, work: Work) -> Iterator[Cluster]:
    """Services that run, and the work done by one machine alone. `NotFound` where a program is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        database = held.enter_context(postgresql())
        # Not where an earlier one was: its masters know each other by ports that others have now.
        objects = held.enter_context(seaweed(Path(held.enter_context(TemporaryDirectory(dir=folder, prefix="weed-")))))
        machine, cpu_s = alone(folder, work)
        store = Store(machine.shared["SWT_STORE"])
        yield Cluster(
            folder=folder,
            work=work,
            database=database,
            objects=objects,
            expected=verdicts(machine),
            runs=len(store.run_keys()),
            calls=len(store.read(LlmCall, status=CallStatus.ANSWERED)),
            cpu_s=cpu_s,
        )


def end_as_by_ctrl_c() -> None:
    """What SIGTERM does from now on: otherwise services and a mounted disk outlive a drill that is ended."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def alone(folder: Path, work: Work) -> tuple[Machine, float]:
    """One machine with local files and without leases that has done the work, and the CPU seconds that it took."""
    with ScriptedProvider(work.model).serve() as url:
        machine = Machine(folder / "alone", {"SWT_STORE": str(folder / "alone/store"), "SWT_SCRIPTED_BASE_URL": url})
        machine.prepare()
        work.give(machine)
        before = cpu_of_children()
        machine.start(work.command)
        assert machine.wait() == 0, machine.log.read_text()
    return machine, cpu_of_children() - before


def cpu_of_children() -> float:
    """Seconds of all processes that have ended, and of those that these waited for."""
    spent = os.times()
    return spent.children_user + spent.children_system


def settings_of(machine: Machine) -> Settings:
    return Settings(store=machine.shared["SWT_STORE"], database=Path(machine.environ["SWT_DATABASE"]))


def verdicts(machine: Machine) -> bytes:
    settings = settings_of(machine)
    ensure_views(settings.store, settings.database, settings.sql)
    return json.dumps(query(settings.database, VERDICTS).to_pylist()).encode()
