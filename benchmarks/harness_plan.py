"""Test processes and CPU seconds for each candidate: the public harness's plan of six runs against ours, cold and warm.

    python -m benchmarks.harness_plan --snapshot-file rows.jsonl --predictions preds.jsonl --instances ID --instances ID

What was measured is kept in the work folder: called again, it goes on where it was.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import own_plan
from benchmarks.measured import machine, text_table
from benchmarks.own_plan import Stage
from benchmarks.public_plan import PublicPlan, PublicRun, throwaway
from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.store.tables.store import Store
from tasks.adapters.uv.installed import installed
from tasks.adapters.uv.interpreters import machine_interpreters
from tasks.changed_lines.task import changed_lines
from tasks.domain.candidate import Suite
from tasks.domain.environment import Environment
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, parse_instance_id
from tasks.domain.outcome import Policy, SuiteKind
from tasks.domain.undone import OfInstance
from tasks.environment.task import CheckSettings, prepare_environment
from tasks.evaluate.intake.load import take_candidates
from tasks.evaluate.task import choose_instances

CACHE = Settings().cache
SNAPSHOT = "benchmark"
PUBLIC, OWN = "public.jsonl", "own.json"


def main(
    snapshot_file: Annotated[Path, typer.Option(help="SWE-bench rows.")],
    predictions: Annotated[Path, typer.Option(help="One candidate per instance.")],
    instances: Annotated[list[str], typer.Option(help="Instance ids; may be repeated.")],
    work: Annotated[Path, typer.Option(help="Folder for the store and what was measured.")] = Path("benchmark-work"),
    cache: Annotated[Path, typer.Option(help="Has the mirrors, and environments if any.")] = CACHE,
    own: Annotated[bool, typer.Option(help="Measure ours.")] = True,
    public: Annotated[bool, typer.Option(help="Measure the public harness's plan.")] = True,
) -> None:
    """Measure both plans on the same candidates and print a table per repository."""
    work = work.absolute()
    if own and not (work / OWN).exists():
        _prepare(work, cache, snapshot_file, predictions, instances)
        own_plan.save(own_plan.run_stages(work, cache, SNAPSHOT, instances, predictions), work / OWN)
    if public:
        environments = _prepare(work, cache, snapshot_file, predictions, instances)
        _measure_public(work, cache, instances, environments)
    if (work / OWN).exists() and (work / PUBLIC).exists():
        runs = [json.loads(line) for line in (work / PUBLIC).read_text().splitlines()]
        print(f"{machine()}\n\n{tables(runs, own_plan.load(work / OWN))}")


def _settings(work: Path, cache: Path) -> Settings:
    return Settings(store=str(own_plan.store_of(work)), cache=own_plan.own_cache(work, cache))


def _prepare(
    work: Path, cache: Path, snapshot_file: Path, predictions: Path, instances: Sequence[str]
) -> dict[str, str]:
    """Snapshot, suites and environments, for both sides and not measured: {instance: environment id}."""
    settings = _settings(work, cache)
    if not (work / OWN).exists():
        shutil.rmtree(settings.store, ignore_errors=True)
    print(import_rows(settings, snapshot_file, SNAPSHOT), file=sys.stderr)
    chosen = choose_instances(settings.places, SNAPSHOT, instances)
    take_candidates(settings.places, ("golden", str(predictions)), chosen, Policy.TESTS_ONLY, references=True)
    check = CheckSettings(sandbox=settings.sandbox)
    units = [OfInstance(snapshot=SNAPSHOT, instance_id=InstanceId(name)) for name in instances]
    return {unit.subject: prepare_environment(settings.places, check, unit) for unit in units}


def _measure_public(work: Path, cache: Path, instances: Sequence[str], environments: dict[str, str]) -> None:
    """The six runs of every candidate that is not measured yet, one JSON line each."""
    path = work / PUBLIC
    path.touch()
    done = {json.loads(line)["instance"] for line in path.read_text().splitlines()}
    for name in (name for name in instances if name not in done):
        plan = _public_plan(work, cache, name, environments[name])
        runs = list(plan.runs()) if plan else []
        with path.open("a") as target:
            target.write("".join(json.dumps(_record(name, run)) + "\n" for run in runs))
        spent = sum(run.install.cpu_s + run.test.cpu_s for run in runs)
        print(f"public plan: {name}: {len(runs)} runs, {spent:.1f} CPU s", file=sys.stderr)


def _record(instance: str, run: PublicRun) -> dict[str, Any]:
    return {"instance": instance, **asdict(run)}


def _public_plan(work: Path, cache: Path, name: str, env_id: str) -> PublicPlan | None:
    """Null where the candidate is not well-formed, so that neither side runs anything."""
    settings = _settings(work, cache)
    store = Store(settings.store)
    (instance,) = store.read(TaskInstance, snapshot=SNAPSHOT, instance_id=name)
    (environment,) = store.read(Environment, env_id=env_id)
    suites = {suite.kind: suite for suite in store.read(Suite, instance_key=instance.instance_key)}
    if SuiteKind.CANDIDATE not in suites:
        return None
    built = installed(settings.cache, environment, machine_interpreters(), instance.base_commit)
    work.joinpath("public").mkdir(exist_ok=True)
    root = work / "public" / env_id
    return PublicPlan(
        instance=instance,
        golden=suites[SuiteKind.GOLDEN],
        candidate=suites[SuiteKind.CANDIDATE],
        watched=tuple(sorted({row.path for row in changed_lines(instance.instance_key, instance.patch)})),
        built=built,
        python=throwaway(built, root, work / "public" / "environments.log"),
        trees=Trees(Mirrors(settings.places.mirrors), settings.places.trees),
        scratch=work / "public",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One repository, or all; sums over its candidates."""

    name: str
    candidates: int
    six: float
    installs: float
    """Of the six runs, what the installs took."""
    two: float
    """The candidate's own two runs only: what is left where the references' logs are found by name."""
    own: dict[str, float]
    """CPU seconds of ours by stage, with a share of what is not in test processes."""
    processes: dict[str, int]

    def cells(self) -> tuple[str, ...]:
        def each(value: float) -> str:
            return f"{value / self.candidates:.2f}"

        cold, warm = self.own["references"] + self.own["candidates"], self.own["candidates"]
        guarded = warm + self.own["guards"]
        started = self.processes["references"] + self.processes["candidates"], self.processes["candidates"]
        return (
            self.name,
            str(self.candidates),
            f"6 / {each(started[0])} / {each(started[1])}",
            f"{each(self.six)} ({each(self.installs)})",
            each(self.two),
            each(cold),
            each(warm),
            f"{cold / self.six:.2f}",
            f"{warm / self.six:.2f}",
            f"{warm / self.two:.2f}",
            f"{guarded / self.six:.2f}",
        )


HEAD = (
    "repository",
    "candidates",
    "test processes: plan / cold / warm",
    "plan of six, CPU s (installs)",
    "its two alone",
    "ours cold",
    "ours warm",
    "cold ÷ six",
    "warm ÷ six",
    "warm ÷ two",
    "guarded ÷ six",
)


def tables(public: Sequence[dict[str, Any]], stages: dict[str, Stage]) -> str:
    """The table per repository and in total, and what ours spends outside test processes."""
    names = sorted({str(run["instance"]) for run in public})
    repos: dict[str, list[str]] = defaultdict(list)
    for name in names:
        repos[parse_instance_id(name)[0]].append(name)
    rows = [_row(repo, members, public, stages) for repo, members in sorted(repos.items())]
    rows.append(_row("all", names, public, stages))
    outside = ", ".join(
        f"{name} {stage.own_s:.1f} of {stage.cpu_s:.1f} CPU s ({sum(stage.processes.values())} test processes, "
        f"{sum(stage.confirming.values())} of them confirming)"
        for name, stage in stages.items()
    )
    return f"{text_table(HEAD, [row.cells() for row in rows])}\n\nOurs outside test processes: {outside}."


def _row(name: str, members: Iterable[str], public: Sequence[dict[str, Any]], stages: dict[str, Stage]) -> Row:
    chosen = set(members)
    runs = [run for run in public if run["instance"] in chosen]
    return Row(
        name=name,
        candidates=len(chosen),
        six=sum(run["install"]["cpu_s"] + run["test"]["cpu_s"] for run in runs),
        installs=sum(run["install"]["cpu_s"] for run in runs),
        two=sum(run["install"]["cpu_s"] + run["test"]["cpu_s"] for run in runs if run["suite"] == SuiteKind.CANDIDATE),
        own={stage: _share(stages[stage], chosen) for stage in stages},
        processes={
            stage: sum(count for instance, count in stages[stage].processes.items() if instance in chosen)
            for stage in stages
        },
    )


def _share(stage: Stage, chosen: set[str]) -> float:
    """Test processes of the chosen instances, and a share of all else by their number."""
    tests = sum(spent for instance, spent in stage.tests_s.items() if instance in chosen)
    started = sum(stage.processes.values())
    mine = sum(count for instance, count in stage.processes.items() if instance in chosen)
    return tests + (stage.own_s * mine / started if started else 0.0)


if __name__ == "__main__":
    typer.run(main)
