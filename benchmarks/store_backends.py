"""What a run costs in either place of a store that has 10⁵ of them: to write it, to read it, to merge it with others.

    python -m benchmarks.store_backends --work FOLDER [--outcomes 10_000_000] [--commits 300] [--writers 3]

The places are a folder, with file locks, and a bucket of SeaweedFS, with leases in PostgreSQL; needs the programs of
both (three_machines.py). The generated store of outcomes.py, which is compacted, is in both; then each step is made by
a process of its own, which has nothing of it in memory:

- *commit*: runs with as many outcomes as such a run has, written one after another;
- *commit, … writers*: the same in as many processes at once, into the same folders;
- *keys*: the keys of all runs that are there, as every flow asks for them;
- *one instance*: its runs, and their outcomes;
- *a question*: one over all outcomes;
- *compact*: the files that these commits left; then keys and the question again.

CPU seconds and wall seconds for each, per commit where there are some, and the CPU seconds of the servers meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measured import machine
from benchmarks.outcomes import write_store
from benchmarks.prefect_server import descendants
from flows.interface.settings import PROJECT
from tasks.adapters.coordination.postgres import open_session
from tasks.adapters.store.files.disk import open_disk
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import InstanceKey, RunKey, content_key
from tasks.domain.run import CaseOutcome, Run
from tests.fakes.services import postgresql, seaweed, store_url

QUESTION = "SELECT outcome, count(*) AS n FROM case_outcome GROUP BY ALL ORDER BY ALL"
HEAD = ("place", "step", "commits", "CPU s", "wall s", "ms of CPU each", "ms each", "CPU s of the servers")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a store is."""

    name: str
    url: str
    leases: str
    """Address of PostgreSQL; empty where files are locked."""
    servers: tuple[int, ...] = ()
    """Processes beside us that it costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one process."""

    cpu_s: float
    wall_s: float


Step = Callable[[Store, int], Callable[[], object]]
"""Gets ready, and gives back what is measured."""


def commit(store: Store, commits: int) -> Callable[[], object]:
    """Runs like the first one, of new suites."""
    known = store.read(Run, instance_key=_instance(store))[0]
    cases = store.read(CaseOutcome, run_key=known.run_key)
    made = [RunKey(content_key("committed", os.getpid(), number, time.time_ns())) for number in range(commits)]

    def write() -> None:
        for key in made:
            store.write_run(replace(known, run_key=key), [replace(case, run_key=key) for case in cases])

    return write


def keys(store: Store, _: int) -> Callable[[], object]:
    return store.run_keys


def one_instance(store: Store, _: int) -> Callable[[], object]:
    instance = _instance(Store(store.url))

    def read() -> None:
        runs = store.read(Run, instance_key=instance)
        assert store.read(CaseOutcome, run_key=tuple(run.run_key for run in runs))

    return read


def question(store: Store, _: int) -> Callable[[], object]:
    return lambda: answers(store.url, PROJECT / "sql", ("case_outcome",), (QUESTION,))


def compact(store: Store, _: int) -> Callable[[], object]:
    return lambda: store.compact(grace_s=0)


def _instance(store: Store) -> InstanceKey:
    return InstanceKey(min(store.columns(Run, ("instance_key",))["instance_key"].to_pylist()))


def measured(step: Step, place: Place, number: int) -> Cost:
    """In this process, which is new."""
    open_session(place.leases)
    measured_step = step(Store(place.url), number)
    began, spent = time.monotonic(), time.process_time()
    measured_step()
    return Cost(cpu_s=time.process_time() - spent, wall_s=time.monotonic() - began)


def at_once(step: Step, place: Place, number: int, processes: int = 1) -> list[Cost]:
    """In so many new processes."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        waiting = [pool.submit(measured, step, place, number) for _ in range(processes)]
        return [one.result() for one in waiting]


def spent_by(servers: Sequence[int]) -> float:
    """CPU seconds of processes and what they started."""
    every = {pid for server in servers for pid in (server, *descendants(server))}
    return sum(_spent(pid) for pid in every)


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def line(place: Place, name: str, step: Step, commits: int = 0, writers: int = 1) -> str:
    before = spent_by(place.servers)
    costs = at_once(step, place, commits, writers)
    servers = spent_by(place.servers) - before
    cpu, wall, made = sum(cost.cpu_s for cost in costs), max(cost.wall_s for cost in costs), commits * writers
    each = (f"{1000 * cpu / made:.1f}", f"{1000 * wall / made:.1f}") if made else ("", "")
    shown = (place.name, name, made or "", f"{cpu:.2f}", f"{wall:.2f}", *each, f"{servers:.2f}")
    return f"| {' | '.join(map(str, shown))} |"


def copy_files(root: Path, url: str) -> None:
    """Copy all files of a store in a folder to another place."""
    target = open_disk(url)
    for path in filter(Path.is_file, root.rglob("*")):
        target.write(path.relative_to(root).as_posix(), path.read_bytes())


@contextmanager
def places(work: Path, root: Path) -> Iterator[list[Place]]:
    """The folder, and a bucket with the same rows."""
    with postgresql() as database, seaweed(work / "weed") as objects:
        bucket = store_url(objects.address, "store")
        copy_files(root, bucket)
        servers = tuple(one.process.pid for one in (database, objects) if one.process)
        yield [
            Place(name="folder", url=str(root), leases=""),
            Place(name="bucket", url=bucket, leases=database.url, servers=servers),
        ]


def main(
    work: Annotated[Path, typer.Option(help="A folder that is not there yet.")],
    outcomes: Annotated[int, typer.Option(help="Of the generated store; 10,000,000 are 10⁵ runs.")] = 10_000_000,
    commits: Annotated[int, typer.Option(help="Of each writer.")] = 300,
    writers: Annotated[int, typer.Option(help="At once.")] = 3,
) -> None:
    """Print a Markdown table."""
    root = work.resolve() / "store"
    root.mkdir(parents=True)
    write_store(root, outcomes)
    with places(work.resolve(), root) as there:
        print(f"{len(Store(str(root)).run_keys())} runs; {machine()}\n")
        print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
        for place in there:
            print(line(place, "commit", commit, commits), flush=True)
            print(line(place, f"commit, {writers} writers", commit, commits, writers), flush=True)
            print(line(place, "keys", keys), flush=True)
            print(line(place, "one instance", one_instance), flush=True)
            print(line(place, "a question", question), flush=True)
            print(line(place, "compact", compact), flush=True)
            print(line(place, "keys, compacted", keys), flush=True)
            print(line(place, "a question, compacted", question), flush=True)


if __name__ == "__main__":
    typer.run(main)
