"""A campaign past this machine: 1, 10 or 100 machines and a million candidates, simulated from measured runs.

    python -m benchmarks.campaign data/store [--candidates 1000000] [--machines 1 --machines 10 --machines 100]

Nothing is run. Every shard draws its candidates' runs from the CPU seconds that the store's runs took, on its machine's
own cores; a machine gets an environment once; Prefect's server, the catalog, the object store and the provider of
models are queues that all machines share, with the measured service times below. Two ways to cut are told beside each
other: by instance, where all candidates of an instance are the work of one machine, and by minutes, as
`flows/engine/shards.py` does, where an instance may lie in many shards.

A line for each: hours, what share of the machines' cores worked on tests, what share of the time each queue was busy,
and which was busiest. Left out: a machine that fails, tests that disturb each other, the time to start machines.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import duckdb
import numpy as np
import simpy
import typer

from benchmarks.measured import text_table
from tasks.domain.errors import NotFound

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

RUNS, GUARDED_RUNS = 2, 6
"""Of a candidate: before and after the fix, and with guards where it seems solved (`ROUNDS`)."""
OURS_S = 0.2
"""CPU seconds of ours in a run, beside its tests (benchmarks/README.md)."""
START_S = 6.0
"""A flow run's process until its first unit is under way: importing Prefect, reading the snapshot."""
UNITS = 50
"""Candidates of an instance that one task run judges."""
TASK_S, FLOW_S = 0.010, 0.4
"""CPU seconds of Prefect's server for a task run, and for a flow run with its events."""
COMMIT_S = 0.012
"""CPU seconds of a catalog in PostgreSQL for the commit of one unit; nobody else commits meanwhile."""
PUTS, PUTS_PER_S = 4, 3500.0
"""Objects of a run without a catalog, and what S3 takes for one prefix."""
FILES = 4
"""Objects of a unit with a catalog."""
MACHINES = (1, 10, 100)
CUTS = (None, 5.0, 30.0)
QUERY = """
    SELECT instance_key, list(cpu_s ORDER BY cpu_s) AS seconds
    FROM read_parquet(?, union_by_name = true) WHERE status = 'completed' AND cpu_s > 0
    GROUP BY instance_key ORDER BY instance_key
"""
BUILDS = "SELECT seconds FROM read_parquet(?, union_by_name = true) WHERE seconds > 0 ORDER BY seconds"
QUEUES = ("server", "catalog", "S3", "model")
HEAD = ("machines", "cut by", "shards", "hours", "core hours", "of these tests", *QUEUES, "busiest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a store knows, in CPU seconds."""

    runs: tuple[Floats, ...]
    """Of each instance."""
    builds: Floats
    """Of environments, those that were found built left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked for."""

    candidates: int
    instances: int
    solved: float
    cores: int
    machines: int
    minutes: float | None
    """Of a shard; null where an instance is never cut."""
    catalog: bool
    tokens: float
    """Of a candidate that a model writes; 0 where they are there."""
    tokens_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Candidates of one instance."""

    instance: int
    seconds: Floats
    """Of each candidate, all its runs."""
    runs: int

    @property
    def units(self) -> int:
        return math.ceil(len(self.seconds) / UNITS)


@dataclass(slots=True, kw_only=True)
class Queue:
    """A service that all machines share: one request at a time, so many seconds each."""

    resource: simpy.Resource
    busy_s: float = 0.0

    def serve(self, environment: simpy.Environment, seconds: float) -> Generator[simpy.Event, Any, None]:
        if seconds:
            with self.resource.request() as turn:
                yield turn
                self.busy_s += seconds
                yield environment.timeout(seconds)


@dataclass(slots=True, kw_only=True)
class World:
    """The campaign under way."""

    plan: Plan
    environment: simpy.Environment
    builds: Floats
    shards: list[Shard]
    queues: dict[str, Queue] = field(init=False)

    def __post_init__(self) -> None:
        self.queues = {name: Queue(resource=simpy.Resource(self.environment)) for name in QUEUES}

    def machine(self) -> Generator[simpy.Event, Any, None]:
        """Shards, one after the other, until there are none: each on all cores."""
        built: set[int] = set()
        plan, now = self.plan, self.environment
        server, catalog, objects, model = (self.queues[name] for name in QUEUES)
        while self.shards:
            shard = self.shards.pop()
            yield from server.serve(now, FLOW_S)
            yield now.timeout(START_S)
            if shard.instance not in built:
                built.add(shard.instance)
                yield now.timeout(float(self.builds[shard.instance]))
            yield from model.serve(now, len(shard.seconds) * plan.tokens / plan.tokens_per_s)
            yield now.timeout(makespan(shard.seconds, plan.cores))
            yield from server.serve(now, shard.units * TASK_S)
            files = shard.units * FILES if plan.catalog else shard.runs * PUTS
            yield from objects.serve(now, files / PUTS_PER_S)
            yield from catalog.serve(now, shard.units * COMMIT_S if plan.catalog else 0)


def makespan(seconds: Floats, cores: int) -> float:
    """Of candidates that free cores take in their order."""
    free = [0.0] * cores
    for one in seconds:
        heapq.heappush(free, heapq.heappop(free) + float(one))
    return max(free)


def read(stores: Sequence[Path]) -> Measured:
    """`NotFound` where no store has a completed run."""
    runs: dict[str, list[float]] = {}
    builds: list[float] = []
    for store in stores:
        if (store / "run").is_dir():
            for key, seconds in duckdb.execute(QUERY, [f"{store}/run/**/*.parquet"]).fetchall():
                runs.setdefault(key, []).extend(seconds)
        if (store / "environment_attempt").is_dir():
            found = duckdb.execute(BUILDS, [f"{store}/environment_attempt/**/*.parquet"]).fetchall()
            builds += [seconds for (seconds,) in found]
    if not runs:
        raise NotFound("no completed run in these stores", hint="swt evaluate golden --snapshot …")
    return Measured(runs=tuple(map(np.array, runs.values())), builds=np.array(builds or [0.0]))


def cut(plan: Plan, measured: Measured, rng: np.random.Generator) -> list[Shard]:
    """The candidates, spread over instances that are like measured ones, in shards of one instance; the longest is
    last, so that it is taken first."""
    shards: list[Shard] = []
    each = np.full(plan.instances, plan.candidates // plan.instances)
    each[: plan.candidates % plan.instances] += 1
    for number, many in enumerate(each):
        known = measured.runs[rng.integers(len(measured.runs))] + OURS_S
        runs = np.where(rng.random(many) < plan.solved, GUARDED_RUNS, RUNS)
        drawn = (rng.choice(known, (many, GUARDED_RUNS)) * (np.arange(GUARDED_RUNS) < runs[:, None])).sum(axis=1)
        # By what it expects: nobody knows beforehand which candidates will be guarded.
        size = max(1, int(60 * plan.minutes * plan.cores / drawn.mean())) if plan.minutes else many
        for first in range(0, many, size):
            part = slice(first, first + size)
            shards.append(Shard(instance=number, seconds=drawn[part], runs=int(runs[part].sum())))
    return sorted(shards, key=lambda shard: float(shard.seconds.sum()))


def simulate(plan: Plan, measured: Measured, seed: int) -> tuple[str, ...]:
    """One line of the table."""
    rng = np.random.default_rng(seed)
    shards = cut(plan, measured, rng)
    count, work = len(shards), sum(float(shard.seconds.sum()) for shard in shards)
    tests = work - OURS_S * sum(shard.runs for shard in shards)
    now = simpy.Environment()
    world = World(plan=plan, environment=now, builds=rng.choice(measured.builds, plan.instances), shards=shards)
    for _ in range(plan.machines):
        now.process(world.machine())
    now.run()
    core_s = now.now * plan.machines * plan.cores
    busy = {name: queue.busy_s / now.now for name, queue in world.queues.items()}
    return (
        str(plan.machines),
        f"{plan.minutes:g} min" if plan.minutes else "instance",
        str(count),
        f"{now.now / 3600:.1f}",
        f"{core_s / 3600:.0f}",
        f"{100 * tests / core_s:.0f} %",
        *(f"{100 * share:.2f} %" for share in busy.values()),
        max({**busy, "cores": work / core_s}.items(), key=lambda pair: pair[1])[0],
    )


def main(
    stores: Annotated[list[Path], typer.Argument(help="Folders of stores with runs.")],
    candidates: Annotated[int, typer.Option(help="To judge.", min=1)] = 1_000_000,
    instances: Annotated[int, typer.Option(help="That they are for.", min=1)] = 300,
    machines: Annotated[list[int] | None, typer.Option(help="How many; may be repeated.")] = None,
    cores: Annotated[int, typer.Option(help="Of a machine.", min=1)] = 16,
    solved: Annotated[float, typer.Option(help="Share that seems solved and is guarded.", min=0, max=1)] = 0.25,
    catalog: Annotated[bool, typer.Option(help="One commit for a unit, in place of files for a run.")] = False,
    tokens: Annotated[float, typer.Option(help="Of a candidate, where a model writes it in the shard.", min=0)] = 0,
    tokens_per_s: Annotated[float, typer.Option(help="What the provider lets through.", min=1)] = 33_000,
    seed: Annotated[int, typer.Option(help="Of all draws.")] = 0,
) -> None:
    """Print the table."""
    measured = read(stores)
    every = np.concatenate(measured.runs)
    print(
        f"{len(every)} runs of {len(measured.runs)} instances: {np.median(every):.2f} CPU s at the median, "
        f"{every.mean():.2f} in the mean; {len(measured.builds)} builds, {measured.builds.mean():.1f} s in the mean\n"
    )
    lines = []
    for minutes in CUTS:
        for count in machines or MACHINES:
            plan = Plan(
                candidates=candidates,
                instances=instances,
                solved=solved,
                cores=cores,
                machines=count,
                minutes=minutes,
                catalog=catalog,
                tokens=tokens,
                tokens_per_s=tokens_per_s,
            )
            lines.append(list(simulate(plan, measured, seed)))
    print(text_table(list(HEAD), lines))


if __name__ == "__main__":
    typer.run(main)
