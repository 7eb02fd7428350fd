"""Three machines that share an object store and PostgreSQL, and nothing else, at the same sweep at the same time.

    python -m benchmarks.three_machines --work FOLDER [--faults 20] [--seed 0] [--instances …] [--method zero_shot_plus]

A machine is a process with a home, a cache, a temporary and a scratch folder of its own. Needs the programs of a
PostgreSQL server, and SeaweedFS (`weed` on the PATH or named by SWT_WEED). First the sweep without a fault; then, each
in a store of its own, with one at a moment that is drawn: a machine killed and started again, one that stands still for
twice the time of a lease, PostgreSQL stopped and started as in a restart or as in a crash. After each:

- the verdict table is byte for byte that of one machine with local files and no leases;
- each run is in the store once, and was made as often as the table says;
- no reply was paid twice; a call that was under way on a machine that was killed may be, and is booked as `unknown`;
- what the machines ended with, and the same command once more, which finds everything done.

A line of a Markdown table for each. What is not as it has to be is named in the last column.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flows.demo import DEMO, SNAPSHOT, build_demo_mirror
from flows.settings import PROJECT, Settings
from flows.snapshots import import_rows
from tasks.adapters.llm.dialects.spoken import Spoken
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.warehouse import Store
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name
from tasks.rehearsal.scripted_provider.script import Step
from tasks.rehearsal.scripted_provider.server import ScriptedProvider, text_step
from tasks.rehearsal.services import PostgreSql, postgresql, seaweed, store_url

MACHINES = 3
LEASE_S = 3
"""Of a lease: short, so that a fault is over soon."""
THINKS_S = 0.3
"""The model, for each reply."""
TEST = "diff\ntests/test_more.py\nEOF or end\ndef test_issue():\n    assert False\nend diff"
VERDICTS = "SELECT instance_id, method, grader, solved, reason FROM verdict WHERE snapshot = 'demo' ORDER BY ALL"
HEAD = ("fault", "after s", "exit codes", "runs", "made", "calls", "paid twice", "unknown", "wall s", "CPU s", "wrong")


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
    shared: dict[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def environ(self) -> dict[str, str]:
        own = {"HOME": "home", "TMPDIR": "tmp", "SWT_CACHE": "cache", "SWT_SCRATCH": "scratch"}
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        places = {name: str(self.folder / part) for name, part in own.items()}
        return kept | places | {"SWT_DATABASE": str(self.folder / "swt.duckdb"), "SWT_WORKERS": "2"} | self.shared

    def prepare(self) -> None:
        for name in ("HOME", "TMPDIR"):
            Path(self.environ[name]).mkdir(parents=True, exist_ok=True)
        build_demo_mirror(Settings(cache=self.folder / "cache"))

    def start(self, command: Sequence[str]) -> None:
        argv = [sys.executable, "-c", "from flows.cli import main; main()", *command]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                argv, env=self.environ, cwd=PROJECT, stdout=log, stderr=log, start_new_session=True
            )

    def send(self, what: signal.Signals) -> None:
        assert self.process
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, what)

    def wait(self) -> int:
        assert self.process
        return self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The services that are shared, and what one machine alone made of the work."""

    folder: Path
    work: Work
    database: PostgreSql
    objects: str
    expected: bytes
    """The verdict table, as JSON."""
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens while machines are at work."""

    name: str
    do: Callable[[Cluster, Sequence[Machine], random.Random], None]
    killed: int = 0
    """Machines whose calls under way may be asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the table."""

    fault: str
    after_s: float
    exit_codes: tuple[int, ...]
    runs: int
    made: int
    calls: int
    paid_twice: int
    unknown: int
    wall_s: float
    cpu_s: float
    wrong: tuple[str, ...]

    @property
    def line(self) -> str:
        codes = ", ".join(map(str, self.exit_codes))
        numbers = (self.runs, self.made, self.calls, self.paid_twice, self.unknown)
        said = "; ".join(self.wrong) or "nothing"
        shown = (
            self.fault,
            f"{self.after_s:.1f}",
            codes,
            *map(str, numbers),
            f"{self.wall_s:.0f}",
            f"{self.cpu_s:.0f}",
        )
        return f"| {' | '.join((*shown, said))} |"


def kill(cluster: Cluster, machines: Sequence[Machine], rng: random.Random) -> None:
    one = rng.choice(machines)
    one.send(signal.SIGKILL)
    one.wait()
    one.start(cluster.work.command)


def kill_two(cluster: Cluster, machines: Sequence[Machine], rng: random.Random) -> None:
    for one in rng.sample(machines, 2):
        one.send(signal.SIGKILL)
        one.wait()
        one.start(cluster.work.command)


def stand_still(_: Cluster, machines: Sequence[Machine], rng: random.Random) -> None:
    one = rng.choice(machines)
    one.send(signal.SIGSTOP)
    time.sleep(2 * LEASE_S)
    one.send(signal.SIGCONT)


def stop_database(by: signal.Signals, cluster: Cluster, _: Sequence[Machine], rng: random.Random) -> None:
    cluster.database.stop(by)
    time.sleep(rng.uniform(0, LEASE_S))
    cluster.database.start()


NONE = Fault(name="none", do=lambda *_: None)
FAULTS = (
    Fault(name="PostgreSQL crashed", do=partial(stop_database, signal.SIGQUIT)),
    Fault(name="kill -9 of a machine", do=kill, killed=1),
    Fault(name="kill -9 of two machines", do=kill_two, killed=2),
    Fault(name="SIGSTOP for two leases", do=stand_still),
    Fault(name="PostgreSQL restarted", do=partial(stop_database, signal.SIGINT)),
)


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
        assert machine.wait() == 0, (machine.folder / "log").read_text()
    return machine


def settings_of(machine: Machine) -> Settings:
    return Settings(store=machine.environ["SWT_STORE"], database=Path(machine.environ["SWT_DATABASE"]))


def verdicts(machine: Machine) -> bytes:
    settings = settings_of(machine)
    ensure_views(settings.store, settings.database, settings.sql)
    return json.dumps(query(settings.database, VERDICTS).to_pylist()).encode()


def end(machines: Sequence[Machine]) -> None:
    """Where the drill itself is ended, no machine goes on."""
    for one in machines:
        if one.process:
            one.send(signal.SIGKILL)


def play(cluster: Cluster, name: str, fault: Fault, rng: random.Random) -> Outcome:
    """Three machines at work, with one fault, in a store of their own."""
    provider = ScriptedProvider(answer)
    with ExitStack() as held:
        url = held.enter_context(provider.serve())
        shared = {
            "SWT_STORE": store_url(cluster.objects, name),
            "SWT_LEASES": cluster.database.url,
            "SWT_LEASE_S": str(LEASE_S),
            "SWT_SCRIPTED_BASE_URL": url,
        }
        machines = [Machine(cluster.folder / f"machine-{number}", shared) for number in range(MACHINES)]
        held.callback(end, machines)
        for one in machines:
            one.prepare()
        import_rows(settings_of(machines[0]), DEMO / "instances.jsonl", SNAPSHOT)
        began, spent = time.monotonic(), os.times()
        for one in machines:
            one.start(cluster.work.command)
        after = rng.uniform(2.0, 12.0) if fault is not NONE else 0.0
        time.sleep(after)
        fault.do(cluster, machines, rng)
        codes = tuple(one.wait() for one in machines)
        wall, now = time.monotonic() - began, os.times()
        cpu = now.children_user + now.children_system - spent.children_user - spent.children_system
        asked = len(provider.books)
        machines[0].start(cluster.work.command)
        again = machines[0].wait()
        return _judged(cluster, machines, fault, provider, asked, (after, codes, again, wall, cpu))


def _judged(
    cluster: Cluster,
    machines: Sequence[Machine],
    fault: Fault,
    provider: ScriptedProvider,
    asked: int,
    ended: tuple[float, tuple[int, ...], int, float, float],
) -> Outcome:
    after, codes, again, wall, cpu = ended
    store = Store(machines[0].environ["SWT_STORE"])
    runs = store.read(Run)
    made = _times_made(store)
    calls = store.read(LlmCall)
    unknown = sum(row.status is CallStatus.UNKNOWN for row in calls)
    twice = sum(times - 1 for times in Counter(repr(one.spoken) for one in provider.books if one.charged).values())
    wrong = {
        f"the same command again: {again}": again != 0,
        "asked again by the same command": len(provider.books) != asked,
        "other verdicts": verdicts(machines[0]) != cluster.expected,
        "a run stands twice": len({run.run_key for run in runs}) != len(runs),
        f"{cluster.runs} runs were wanted": len(runs) != cluster.runs,
        "paid twice": twice > (unknown if fault.killed else 0),
        "exit codes": not fault.killed and fault.name != "PostgreSQL crashed" and any(codes),
        "store check": bool(store.check()),
    }
    return Outcome(
        fault=fault.name,
        after_s=after,
        exit_codes=codes,
        runs=len(runs),
        made=made,
        calls=len(provider.books),
        paid_twice=twice,
        unknown=unknown,
        wall_s=wall,
        cpu_s=cpu,
        wrong=tuple(text for text, is_so in wrong.items() if is_so),
    )


def _times_made(store: Store) -> int:
    """Of runs: each time leaves facts of its own (times differ), also those that do not count."""
    return len([path for path in store.disk.paths(table_name(CaseOutcome)) if "/part-" in path and "empty" not in path])


def main(
    work: Annotated[Path, typer.Option(help="A folder for everything.")],
    faults: Annotated[int, typer.Option(help="To draw.", min=0)] = 10,
    instances: Annotated[str, typer.Option(help="Of the demo, by number.")] = "3,7",
    method: Annotated[list[str] | None, typer.Option(help="Of the sweep; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
) -> None:
    """Print the table."""
    names = tuple(f"rolling-swt-bench__larder-{number}" for number in instances.split(","))
    rng = random.Random(seed)  # noqa: S311 - a drill, no secret
    with cluster_of(work, Work(instances=names, methods=tuple(method or ["zero_shot_plus"]))) as cluster:
        print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
        print(play(cluster, "drill-none", NONE, rng).line, flush=True)
        for number in range(faults):
            print(play(cluster, f"drill-{seed}-{number}", FAULTS[number % len(FAULTS)], rng).line, flush=True)


if __name__ == "__main__":
    typer.run(main)
