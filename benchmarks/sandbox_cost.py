"""What containers cost against bubblewrap on real instances, and whether any case has another outcome in them.

    python -m benchmarks.sandbox_cost --snapshot-file rows.jsonl --candidates golden --candidates preds.jsonl \\
        --instances pallets__flask-5063 --instances django__django-11099

Both sandboxes run the same `swt evaluate` into one store, one instance at a time, after a round that is thrown away and
that makes environments, packed trees and images. Called again with the same folder it goes on where it was.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measured import cost_of, machine, text_table
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.sandbox.supervisor import tree
from tasks.adapters.store.rows.store import Store
from tasks.adapters.store.views.database import ensure_views
from tasks.domain.outcome import SandboxKind
from tasks.domain.run import Run

SNAPSHOT = "benchmark"
CACHE = Settings().cache
PAIR = (SandboxKind.BUBBLEWRAP, SandboxKind.DOCKER)
TIMEOUT_S = 7200.0
COSTS = "sandbox_cost.jsonl"
ENGINE = ("dockerd", "containerd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One instance evaluated in one sandbox."""

    instance: str
    sandbox: str
    runs: int
    wall_s: float
    """Of the whole command."""
    run_wall_s: float
    """Of its test processes, one after the other."""
    command_cpu_s: float
    """Of the command and its descendants: under bubblewrap these are all there is."""
    container_cpu_s: float
    """Of the test processes in containers, from their control groups."""
    engine_cpu_s: float
    """Of the engine's long-lived processes meanwhile; what its helpers used is not in it."""

    @property
    def cpu_s(self) -> float:
        return self.command_cpu_s + self.container_cpu_s + self.engine_cpu_s


def main(
    snapshot_file: Annotated[Path, typer.Option(help="SWE-bench rows.")],
    instances: Annotated[list[str], typer.Option(help="Instance ids; may be repeated.")],
    candidates: Annotated[list[str] | None, typer.Option(help="Predictions files, `golden`.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for the stores.")] = Path("benchmark-work"),
    cache: Annotated[Path, typer.Option(help="Has the mirrors, and environments if any.")] = CACHE,
) -> None:
    """Measure both sandboxes on every instance; exit code 1 if any case has another outcome in one of them."""
    work = work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    wanted = [str(Path(one).absolute()) if Path(one).exists() else one for one in candidates or ["golden"]]
    settings = {name: _settings(work / name, cache) for name in ("warm", "measured")}
    for one in settings.values():
        print(import_rows(one, snapshot_file, SNAPSHOT), file=sys.stderr)
    done = _done(work / COSTS)
    for instance in (name for name in instances if name not in {one.instance for one in done}):
        fresh = _both(settings, instance, wanted)
        with (work / COSTS).open("a") as target:
            target.write("".join(json.dumps(asdict(one)) + "\n" for one in fresh))
        done += fresh
    print(f"{machine()}\n\n{table(done)}\n")
    different = differences(settings["measured"])
    print(f"{len(different)} cases with another outcome" + "".join(f"\n{row}" for row in different))
    raise typer.Exit(1 if different else 0)


def table(measured: Sequence[Measured]) -> str:
    """One line per instance and one for all: docker over bubblewrap."""
    names = list(dict.fromkeys(one.instance for one in measured))
    rows = [_row(name, [one for one in measured if one.instance == name]) for name in names]
    head = ("instance", "runs", "bubblewrap, wall s", "docker, wall s", "ratio", "bubblewrap, CPU s", "docker, CPU s")
    return text_table((*head, "ratio", "tests alone: wall"), [*rows, _row("all", measured)])


def differences(settings: Settings) -> list[str]:
    """What `sandbox_difference` finds, as text."""
    import duckdb

    ensure_views(settings.store, settings.database, settings.sql)
    with duckdb.connect(str(settings.database), read_only=True) as con:
        return [str(row) for row in con.sql("FROM sandbox_difference ORDER BY ALL").fetchall()]


def _settings(folder: Path, cache: Path) -> Settings:
    return Settings(store=str(folder / "store"), cache=cache, database=folder / "swt.duckdb")


def _both(settings: dict[str, Settings], instance: str, candidates: Sequence[str]) -> list[Measured]:
    for sandbox in PAIR:
        _evaluate(settings["warm"], instance, candidates, sandbox)
    return [_evaluate(settings["measured"], instance, candidates, sandbox) for sandbox in PAIR]


def _evaluate(settings: Settings, instance: str, candidates: Sequence[str], sandbox: SandboxKind) -> Measured:
    argv = [sys.executable, "-c", "from flows.interface.cli import main; main()", "evaluate", *candidates]
    argv += ["--snapshot", SNAPSHOT, "--instances", instance, "--sandbox", sandbox, "--workers", "1"]
    places = {"SWT_STORE": settings.store, "SWT_CACHE": str(settings.cache), "SWT_DATABASE": str(settings.database)}
    log = Path(settings.store).parent / "log"
    began, engine = time.monotonic(), _engine_cpu()
    cost = cost_of(argv, env={**os.environ, **places}, log=log, timeout=TIMEOUT_S)
    if cost.exit_code:
        raise SystemExit(f"{instance} in {sandbox}: exit code {cost.exit_code}; see {log}")
    runs = [run for run in Store(settings.store).read(Run, instance_id=instance) if run.sandbox is sandbox]
    inside = sum(run.cpu_s or 0.0 for run in runs)
    return Measured(
        instance=instance,
        sandbox=sandbox,
        runs=len(runs),
        wall_s=time.monotonic() - began,
        run_wall_s=sum(run.wall_s for run in runs),
        command_cpu_s=cost.cpu_s,
        container_cpu_s=inside if sandbox is SandboxKind.DOCKER else 0.0,
        engine_cpu_s=_engine_cpu() - engine if sandbox is SandboxKind.DOCKER else 0.0,
    )


def _engine_cpu() -> float:
    return sum(process.cpu_s for process in tree.everyone() if _name(process.pid) in ENGINE)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _done(path: Path) -> list[Measured]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [Measured(**json.loads(line)) for line in lines]


def _row(name: str, measured: Sequence[Measured]) -> tuple[str, ...]:
    bubblewrap, docker = ([one for one in measured if one.sandbox == kind] for kind in PAIR)
    cells = [name, str(sum(one.runs for one in docker))]
    for value in ("wall_s", "cpu_s"):
        ours, theirs = (sum(getattr(one, value) for one in side) for side in (bubblewrap, docker))
        cells += [f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}"]
    alone = sum(one.run_wall_s for one in docker) / sum(one.run_wall_s for one in bubblewrap)
    return (*cells, f"{alone:.2f}")


if __name__ == "__main__":
    typer.run(main)
