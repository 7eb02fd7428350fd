"""One flow run that is shared by Prefect workers on three machines, on real instances, with and without faults.

    python -m benchmarks.three_workers --work FOLDER --rows ROWS.jsonl --git 'mirrors/{repo}' --instances IDS.txt
        (--candidate golden --candidate PREDICTIONS.jsonl … | --method NAME … [--knows PREDICTIONS.jsonl …])
        [--rounds 5] [--faults 1] [--shards 6] [--networks]

The machines are those of `three_machines`, with clocks that are a minute ahead, a minute behind, and right. Each has a
worker of one pool; a Prefect server with its tables in PostgreSQL, that PostgreSQL for leases, and a bucket are
all that they share. Each round is a store and a server of its own: the deployment is asked for with `--shards` flow
runs, once without a fault and then with some of `FAULTS`; where the flow run does not complete it is asked for again,
as its operator would, and once more when it has, which has to find everything done. Judged as in `three_machines`;
the exit code of a flow run that completed is 0.

One machine alone, with local files and without Prefect, does the same first: its verdicts are what is expected, and its
CPU seconds what those of three are held against.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import psycopg
import tenacity
import typer
from psycopg.sql import SQL, Identifier

from benchmarks import machine_faults
from benchmarks.machine_faults import LEASE_S, OFF_S, Fault, clock_library, strike, with_clock
from benchmarks.machines import (
    THINKS_S,
    Cluster,
    Machine,
    Work,
    answer,
    cluster_of,
    cpu_of_children,
    end_as_by_ctrl_c,
    with_whole_paths,
)
from benchmarks.prefect_server import (
    ENDED,
    GONE,
    POOL,
    PROGRAM,
    Prefect,
    descendants,
    documented_automation,
    prefect_server,
)
from benchmarks.published_model import PublishedTests
from benchmarks.three_machines import HEAD, Ended, Outcome, drawn, judged, keep, played, summary
from tests.fakes.scripted_provider.server import ScriptedProvider
from tests.fakes.services import store_url

CLOCKS_S = (OFF_S, -OFF_S, 0)
"""Of the machines, from the right time."""
WITHIN_S = (20.0, 120.0)
"""Seconds after the flow run was asked for at which a fault comes."""
BEAT_S = 30
"""Between heartbeats of a flow run, the least that Prefect takes; three that are missed are a lost machine."""
GONE_S = 8 * BEAT_S
"""Without one until the automation of docs/automation.md calls a flow run crashed; the first takes a minute here."""
STOPS_S = 60.0
"""Workers, once they were asked to."""
ASKED = 3
"""Times that a flow run is asked for until it completes."""
PATIENCE_S = 7200.0


@dataclass(slots=True)
class WorkersMachine(Machine):
    """A machine whose work comes from a Prefect server."""

    prefect: Prefect

    def start(self, command: Sequence[str]) -> None:  # noqa: ARG002 - what it works on is the server's to say
        told = ("worker", "start", "--pool", POOL, "--type", "process", "--name", self.folder.name, "--limit", "2")
        self.run([str(PROGRAM), *told])

    def send(self, what: signal.Signals) -> None:
        """To the worker, its flow runs and all that these started: Prefect gives some of them groups of their own."""
        assert self.process
        for signal_ in dict.fromkeys((signal.SIGSTOP, what)):  # stopped first, so that nobody starts another meanwhile
            for pid in [self.process.pid, *descendants(self.process.pid)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal_)

    def end(self) -> None:
        """Told to the worker alone."""
        assert self.process
        self.process.terminate()


def stop(machines: Sequence[WorkersMachine]) -> None:
    """As their operator does; a worker that does not end is killed, for its flow runs have ended."""
    working = [one for one in machines if one.at_work]
    for one in working:
        one.end()
    until = time.monotonic() + STOPS_S
    for one in working:
        while one.at_work and time.monotonic() < until:
            time.sleep(0.2)
        if one.at_work:
            one.send(signal.SIGKILL)
        one.wait()


def kill_server(_: Cluster, machines: Sequence[Machine], rng: random.Random) -> None:
    (prefect,) = {id(one.prefect): one.prefect for one in machines if isinstance(one, WorkersMachine)}.values()
    prefect.stop(kill=True)
    time.sleep(rng.uniform(0, LEASE_S))
    prefect.start()


STRUCK = ("kill -9 of a machine", "PostgreSQL crashed", "SeaweedFS killed", "SIGSTOP for two leases")
FAULTS = (
    Fault(name="Prefect's server killed", do=kill_server),
    # The flow run that waits for the others may be on that machine.
    *(replace(one, may_end_badly=True) for one in machine_faults.FAULTS if one.name in STRUCK),
)


@contextmanager
def served(cluster: Cluster, name: str) -> Iterator[Prefect]:
    """A Prefect server with its tables in the cluster's PostgreSQL, that notices what is gone."""
    folder, environ = place_of_server(cluster, name)
    with prefect_server(folder, environ | {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(BEAT_S)}) as prefect:
        file = folder / "gone.yaml"
        file.write_text(documented_automation(GONE).replace("within: 600", f"within: {GONE_S}"))
        prefect.set_up("automation", "create", "--from-file", str(file))
        yield prefect


def place_of_server(cluster: Cluster, name: str) -> tuple[Path, dict[str, str]]:
    """An empty folder, and variables for a server with tables of its own in the cluster's PostgreSQL."""
    with psycopg.connect(cluster.database.url, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(Identifier(name)))
    folder = cluster.folder / name
    folder.mkdir()
    place = cluster.database.url.removesuffix("swt").replace("postgresql", "postgresql+asyncpg") + name
    environ = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return folder, environ | {"HOME": str(folder), "PREFECT_API_DATABASE_CONNECTION_URL": place}


def of_clients(prefect: Prefect, home: Path) -> dict[str, str]:
    """What Prefect's variables are on a machine that is not the server's."""
    servers = ("PREFECT_SERVER_", "PREFECT_API_DATABASE_", "PREFECT_HOME")
    told = {name: text for name, text in prefect.environ.items() if name.startswith("PREFECT_")}
    return {name: text for name, text in told.items() if not name.startswith(servers)} | {"PREFECT_HOME": str(home)}


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(OSError),  # urllib's errors are some: the server or its tables were away
    stop=tenacity.stop_after_delay(PATIENCE_S),
    wait=tenacity.wait_fixed(2),
    reraise=True,
)
def ended(prefect: Prefect, flow_run: str) -> bool:
    """Whether it completed, once it has ended."""
    return bool(prefect.ended(flow_run, PATIENCE_S)["state_type"] == "COMPLETED")


@contextmanager
def at_work(cluster: Cluster, prefect: Prefect, shared: Mapping[str, str]) -> Iterator[list[WorkersMachine]]:
    """Three machines with their mirrors and a worker each."""
    library = clock_library(cluster.folder)
    machines = []
    for number, off_s in enumerate(CLOCKS_S):
        folder = cluster.folder / f"machine-{number}"
        own = of_clients(prefect, folder / "prefect")
        machines.append(
            WorkersMachine(
                folder, with_clock({**shared, **own}, library, off_s), prefect, network=cluster.network(number)
            )
        )
    cluster.give(machines[0])
    try:
        for one in machines:
            one.prepare(cluster.work)
            one.start(())
        yield machines
    finally:
        stop(machines)


def play(cluster: Cluster, name: str, faults: Sequence[Fault], rng: random.Random, shards: int) -> Outcome:
    """One round. What is counted as CPU seconds is the workers' and what they started, not the services'."""
    work = cluster.work
    provider = ScriptedProvider(work.model)
    told = work.parameters | {"shards": shards}
    with ExitStack() as held:
        shared = {
            "SWT_STORE": store_url(cluster.objects.address, name),
            "SWT_LEASES": cluster.database.url,
            "SWT_LEASE_S": str(LEASE_S),
            "SWT_SCRIPTED_BASE_URL": held.enter_context(provider.serve()),
        }
        prefect = held.enter_context(served(cluster, name))
        machines = held.enter_context(at_work(cluster, prefect, shared))
        began, spent = time.monotonic(), cpu_of_children()
        flow_run = prefect.begin(work.deployment, told)
        after, late = strike(
            cluster,
            machines,
            faults,
            rng,
            WITHIN_S,
            over=lambda: prefect.ask(f"/flow_runs/{flow_run}")["state_type"] in ENDED,
        )
        states = [ended(prefect, flow_run)]
        while not states[-1] and len(states) < ASKED:
            states.append(ended(prefect, prefect.begin(work.deployment, told)))
        wall, asked = time.monotonic() - began, len(provider.books)
        stop(machines)
        cpu = cpu_of_children() - spent  # of workers that have ended
        for one in machines:
            one.start(())
        again = ended(prefect, prefect.begin(work.deployment, told))
        stop(machines)
        return judged(
            cluster,
            machines,
            faults,
            provider,
            Ended(
                after_s=after,
                late=late,
                exit_codes=tuple(int(not done) for done in states),
                again=int(not again),
                wall_s=wall,
                cpu_s=cpu,
                asked=asked,
            ),
        )


def main(
    work: Annotated[Path, typer.Option(help="A folder for everything.")],
    rows: Annotated[Path, typer.Option(help="Instances, as SWE-bench has them.")],
    git: Annotated[str, typer.Option(help="Where their repositories are, with {repo} for OWNER/NAME.")],
    instances: Annotated[Path, typer.Option(help="A file with their ids.")],
    candidate: Annotated[list[str] | None, typer.Option(help="To judge; may be repeated.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="To sweep; may be repeated.")] = None,
    knows: Annotated[list[Path] | None, typer.Option(help="Predictions that the model answers with.")] = None,
    rounds: Annotated[int, typer.Option(help="With a fault, besides those played in the folder before.", min=0)] = 0,
    faults: Annotated[int, typer.Option(help="In each round.", min=1)] = 1,
    shards: Annotated[int, typer.Option(help="Flow runs that share the work.", min=1)] = 6,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    networks: Annotated[bool, typer.Option("--networks", help="Each machine in a network namespace; as root.")] = False,
) -> None:
    """Print the tables."""
    end_as_by_ctrl_c()
    names = tuple(instances.read_text().split())
    asked = Work(
        instances=names,
        methods=tuple(method or ()),
        candidates=with_whole_paths(candidate or ()),
        rows=rows.resolve(),
        git=git,
        model=PublishedTests.of(rows, names, knows, THINKS_S) if knows else answer,
    )
    work = work.resolve()
    with cluster_of(work, asked, len(CLOCKS_S) if networks else 0) as cluster:
        print(f"one machine alone: {cluster.runs} runs, {cluster.cpu_s:.0f} CPU s\n")
        print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
        for number in range(len(played(work)), rounds + 1):
            rng = random.Random(f"{seed} {number}")  # noqa: S311 - a drill, no secret
            chosen = drawn(seed, number, faults, FAULTS) if number else ()
            outcome = play(cluster, f"workers_{seed}_{number}_{os.getpid()}", chosen, rng, shards)
            keep(work, outcome)
            print(outcome.line, flush=True)
        print("\n".join(["", *summary(played(work), cluster.runs)]))


if __name__ == "__main__":
    typer.run(main)
