"""Three machines that share an object store and PostgreSQL, and nothing else, at the same sweep at the same time.

    python -m benchmarks.three_machines --work FOLDER [--rounds 20] [--faults 1] [--seed 0] [--instances …] [--method …]

A machine is a process with a home, a cache, a temporary and a scratch folder of its own. Needs the programs of a
PostgreSQL server, and SeaweedFS (`weed` on the PATH or named by SWT_WEED). First the sweep without a fault; then, each
in a store of its own, rounds with faults of benchmarks/machine_faults.py at moments that are drawn. After each:

- the verdict table is byte for byte that of one machine with local files and no leases;
- each run is in the store once, and was made as often as the table says;
- no reply was paid twice; a call that was under way on a machine that was killed may be, and is booked as `unknown`;
- what the machines ended with, and the same command once more, which finds everything done.

A line of a Markdown table for each, and all that were played in the folder at the end. What is not as it has to be is
named in the last column. The same command goes on where it was ended: what was played stands in `outcomes.jsonl`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine_faults import FAULTS, LEASE_S, Fault, clock_library, own_disk, strike, with_clock
from benchmarks.machines import Cluster, Machine, Work, cluster_of, cpu_of_children, end_as_by_ctrl_c, verdicts
from tasks.adapters.store.tables.store import Store
from tasks.domain.llm import CallStatus, LlmCall
from tasks.domain.run import CaseOutcome, Run
from tasks.domain.table import table_name
from tests.fakes.failing_proxy import FailingProxy
from tests.fakes.scripted_provider.server import ScriptedProvider
from tests.fakes.services import store_url

MACHINES = 3
WITHIN_S = (2.0, 40.0)
"""Seconds after the start at which a fault may come."""
OUTCOMES = "outcomes.jsonl"
HEAD = (
    "faults",
    "after s",
    "late",
    "exit codes",
    "runs",
    "made",
    "calls",
    "paid twice",
    "unknown",
    "wall s",
    "CPU s",
    "wrong",
)
IN_ALL = ("fault", "played", "rounds", "something wrong", "runs wanted", "made", "calls", "paid twice", "unknown")
"""A round counts for each kind of fault in it, and once in the last line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the table."""

    faults: tuple[str, ...]
    after_s: tuple[float, ...]
    late: int
    """Of the faults, those that came when no machine was at work any more: they say nothing."""
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
            ", then ".join(self.faults) or "none",
            ", ".join(f"{moment:.0f}" for moment in self.after_s),
            str(self.late),
            codes,
            *map(str, numbers),
            f"{self.wall_s:.0f}",
            f"{self.cpu_s:.0f}",
        )
        return f"| {' | '.join((*shown, said))} |"


def end(machines: Sequence[Machine]) -> None:
    """Where the drill itself is ended, no machine goes on."""
    for one in machines:
        if one.process:
            one.send(signal.SIGKILL)
            one.wait()


def drawn(seed: int, number: int, faults: int, kinds: Sequence[Fault] = FAULTS) -> list[Fault]:
    """Those of a round, numbered from 1: over all rounds each kind comes equally often, in another order each time."""

    def one(place: int) -> Fault:
        turn, at = divmod(place, len(kinds))
        return random.Random(f"{seed} turn {turn}").sample(kinds, len(kinds))[at]  # noqa: S311 - a drill, no secret

    return [one((number - 1) * faults + place) for place in range(faults)]


def play(cluster: Cluster, name: str, faults: Sequence[Fault], rng: random.Random) -> Outcome:
    """Three machines at work, with faults one after another, in a store of their own."""
    provider = ScriptedProvider(cluster.work.model)
    failing = max((fault.failing for fault in faults), default=0.0)
    off_s = max((fault.off_s for fault in faults), default=())
    proxy = FailingProxy(cluster.objects.address, 0.0, rng)
    with ExitStack() as held:
        shared = {
            # By one address from first to last: a process opens a bucket and prefix at one place only.
            "SWT_STORE": store_url(held.enter_context(proxy.serve()) if failing else cluster.objects.address, name),
            "SWT_LEASES": cluster.database.url,
            "SWT_LEASE_S": str(LEASE_S),
            "SWT_SCRIPTED_BASE_URL": held.enter_context(provider.serve()),
        }
        machines = [Machine(cluster.folder / f"machine-{number}", shared) for number in range(MACHINES)]
        cluster.give(machines[0])
        if any(fault.small for fault in faults):
            held.enter_context(own_disk(machines[-1].folder))
        held.callback(end, machines)
        for one in machines:
            one.prepare()
        proxy.share = failing
        library = clock_library(cluster.folder)
        for one, off in zip(machines, off_s, strict=False):
            one.shared = with_clock(shared, library, off)
        began, spent = time.monotonic(), cpu_of_children()
        for one in machines:
            one.start(cluster.work.command)
        after, late = strike(
            cluster, machines, faults, rng, WITHIN_S, over=lambda: not any(one.at_work for one in machines)
        )
        codes = tuple(one.wait() for one in machines)
        wall, cpu = time.monotonic() - began, cpu_of_children() - spent
        asked = len(provider.books)
        proxy.share = 0.0  # what is looked at now is what is there
        machines[0].start(cluster.work.command)
        again = machines[0].wait()
        ended = Ended(after_s=after, late=late, exit_codes=codes, again=again, wall_s=wall, cpu_s=cpu, asked=asked)
        return judged(cluster, machines, faults, provider, ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a round came to its end."""

    after_s: tuple[float, ...]
    late: int
    exit_codes: tuple[int, ...]
    again: int
    """Exit code of the same command once more."""
    wall_s: float
    cpu_s: float
    asked: int
    """Calls before that."""


def judged(
    cluster: Cluster, machines: Sequence[Machine], faults: Sequence[Fault], provider: ScriptedProvider, ended: Ended
) -> Outcome:
    """What a round came to, by the store and the books of the provider."""
    store = Store(machines[0].shared["SWT_STORE"])
    runs = store.read(Run)
    made = _times_made(store)
    calls = store.read(LlmCall)
    unknown = sum(row.status is CallStatus.UNKNOWN for row in calls)
    # Not by what was asked: the samples of one prompt are one question.
    twice = max(0, sum(one.charged for one in provider.books) - cluster.calls)
    wrong = {
        f"the same command again: {ended.again}": ended.again != 0,
        "asked again by the same command": len(provider.books) != ended.asked,
        "other verdicts": verdicts(machines[0]) != cluster.expected,
        "a run stands twice": len({run.run_key for run in runs}) != len(runs),
        f"{cluster.runs} runs were wanted": len(runs) != cluster.runs,
        "paid twice": twice > (unknown if any(fault.killed for fault in faults) else 0),
        "exit codes": not any(fault.may_end_badly for fault in faults) and any(ended.exit_codes),
        "store check": bool(store.check()),
    }
    return Outcome(
        faults=tuple(fault.name for fault in faults),
        after_s=ended.after_s,
        late=ended.late,
        exit_codes=ended.exit_codes,
        runs=len(runs),
        made=made,
        calls=len(provider.books),
        paid_twice=twice,
        unknown=unknown,
        wall_s=ended.wall_s,
        cpu_s=ended.cpu_s,
        wrong=tuple(text for text, is_so in wrong.items() if is_so),
    )


def _times_made(store: Store) -> int:
    """Of runs: each time leaves facts of its own (times differ), also those that do not count."""
    return len([path for path in store.disk.paths(table_name(CaseOutcome)) if "/part-" in path and "empty" not in path])


def played(folder: Path) -> list[Outcome]:
    """What was played in a folder, in its order."""
    path = folder / OUTCOMES
    rows: list[dict[str, Any]] = []
    if path.exists():
        rows += map(json.loads, path.read_text("utf-8").splitlines())
    lists = ("faults", "after_s", "exit_codes", "wrong")
    return [Outcome(**(row | {name: tuple(row[name]) for name in lists})) for row in rows]


def keep(folder: Path, outcome: Outcome) -> None:
    with (folder / OUTCOMES).open("a", encoding="utf-8") as sink:
        sink.write(json.dumps(asdict(outcome)) + "\n")


def summary(outcomes: Sequence[Outcome], wanted: int) -> list[str]:
    """Lines of a table: what was played, by fault, and all of it."""
    groups = defaultdict(list)
    for one in outcomes:
        for name in one.faults or ("none",):
            groups[name].append(one)
    lines = [f"| {' | '.join(IN_ALL)} |", f"|{' --- |' * len(IN_ALL)}"]
    for name, some in sorted(groups.items()):
        lines.append(_counted(name, len(some), list(dict.fromkeys(some)), wanted))
    lines.append(_counted("all", sum(len(one.faults) - one.late for one in outcomes), outcomes, wanted))
    return lines


def _counted(name: str, played: int, rounds: Sequence[Outcome], wanted: int) -> str:
    sums = (sum(getattr(one, what) for one in rounds) for what in ("made", "calls", "paid_twice", "unknown"))
    shown = (name, played, len(rounds), sum(bool(one.wrong) for one in rounds), wanted * len(rounds), *sums)
    return f"| {' | '.join(map(str, shown))} |"


def main(
    work: Annotated[Path, typer.Option(help="A folder for everything.")],
    rounds: Annotated[int, typer.Option(help="In all, with those that were played in the folder before.", min=0)] = 10,
    faults: Annotated[int, typer.Option(help="In each round.", min=1)] = 1,
    instances: Annotated[str, typer.Option(help="Of the demo, by number.")] = "3,7",
    method: Annotated[list[str] | None, typer.Option(help="Of the sweep; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
) -> None:
    """Print the tables."""
    end_as_by_ctrl_c()
    names = tuple(f"rolling-swt-bench__larder-{number}" for number in instances.split(","))
    asked = Work(instances=names, methods=tuple(method or ["zero_shot_plus"]))
    with cluster_of(work, asked) as cluster:
        print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
        for number in range(len(played(work)), rounds + 1):
            rng = random.Random(f"{seed} {number}")  # noqa: S311 - a drill, no secret
            chosen = drawn(seed, number, faults) if number else ()
            # What an interrupted one left is not to be found by its next try.
            outcome = play(cluster, f"drill-{seed}-{number}-{os.getpid()}", chosen, rng)
            keep(work, outcome)
            print(outcome.line, flush=True)
        print("\n".join(["", *summary(played(work), cluster.runs)]))


if __name__ == "__main__":
    typer.run(main)
