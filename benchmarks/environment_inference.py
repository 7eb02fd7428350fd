"""Environments without any recipe, on real base commits: how many build, how many validate, how long each takes.

    python -m benchmarks.environment_inference lite.jsonl verified.jsonl --history pallets/flask --work FOLDER

For each commit the ladder of inference is climbed as of the commit's date, and the golden tests run in what it built,
before and after the golden patch, without a network. At the end all are judged as `swt validate` does, on fewer runs;
what solves nothing runs once more with a network and twice without. data/environments and the rows' versions are not
read.

What was measured is kept in the work folder: called again, or twice at once, it goes on where it was. `--again ID`
forgets one of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from benchmarks.base_commits import Row, file_rows, history_rows
from benchmarks.environment_table import Judged, Measured, Spent, commits, table
from benchmarks.measured import machine
from flows.interface.settings import PROJECT, Settings
from flows.snapshots import import_rows
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.rows.store import Store
from tasks.adapters.store.views.database import ensure_views
from tasks.domain.errors import InfrastructureError, NotFound
from tasks.domain.instance import TaskInstance
from tasks.domain.names import EnvId
from tasks.domain.outcome import Policy, SandboxKind, SuiteKind, Tracer
from tasks.domain.places import Places
from tasks.domain.run import Run
from tasks.domain.validation import CaseStability, Stability, Validation
from tasks.environment.resolve import Climb
from tasks.environment.task import CheckSettings, climb_for, record
from tasks.evaluate.intake.load import take_candidates
from tasks.evaluate.task import Purpose, Ran, RunSettings, SuiteRuns, choose_instances, run_suites
from tasks.scrape.repositories import find_repository, read_repositories
from tasks.validate.task import ToJudge, golden_misses, golden_suites, judge_instances

CACHE = Settings().cache
MEASURED = "environment_inference.jsonl"
ERROR_WIDTH = 600
Result = TypeVar("Result")


class WithoutRecipes(Settings):
    """Settings that know of no recipe."""

    @property
    def places(self) -> Places:
        return Places(store=self.store, cache=self.cache, recipes=self.cache / "no-recipes", scratch=self.scratch)


def main(
    rows: Annotated[list[Path], typer.Argument(help="SWE-bench rows.")],
    repo: Annotated[list[str] | None, typer.Option(help="Take rows of these; may be repeated.")] = None,
    history: Annotated[list[str] | None, typer.Option(help="Take commits of its history; may be repeated.")] = None,
    each: Annotated[int, typer.Option(help="Commits of each repository.")] = 5,
    work: Annotated[Path, typer.Option(help="Folder for all that is made.")] = Path("benchmark-work"),
    cache: Annotated[Path, typer.Option(help="Has the mirrors.")] = CACHE,
    again: Annotated[list[str] | None, typer.Option(help="Measure this one again; may be repeated.")] = None,
) -> None:
    """Measure every commit that is not measured yet, then print a table per repository and what failed."""
    work = work.absolute()
    own = _own_cache(work, cache.absolute())
    os.environ["UV_CACHE_DIR"] = str(work / "uv")
    settings = WithoutRecipes(
        store=str(work / "store"), cache=own, database=work / "swt.duckdb", sandbox=SandboxKind.BUBBLEWRAP
    )
    if again:
        _forget(work / MEASURED, again)
    mirrors = Mirrors(own / "mirrors")
    known = read_repositories(PROJECT / "data" / "repositories.toml")
    chosen = file_rows(mirrors, rows, repo or (), each)
    for name in history or ():
        chosen += history_rows(mirrors, find_repository(known, name), each)
    for row in _in_turn(chosen):
        if row["instance_id"] not in {one.instance for one in load(work / MEASURED)}:
            _keep(measure(row, settings), work / MEASURED)
    wanted = {row["instance_id"]: row for row in chosen}
    judged = judge(wanted, [one for one in load(work / MEASURED) if one.instance in wanted], settings)
    print(f"{machine()}\n\n{table(judged)}\n\n{commits(judged)}")


def _own_cache(work: Path, cache: Path) -> Path:
    """A cache with the mirrors of `cache` and nothing else of it."""
    own = work / "cache"
    (own / "no-recipes").mkdir(parents=True, exist_ok=True)
    if not (own / "mirrors").is_symlink():
        (own / "mirrors").symlink_to(cache / "mirrors")
    return own


def _in_turn(rows: Sequence[Row]) -> list[Row]:
    """The first of every repository, then the second, and so on: uv's cache fills for all of them alike."""
    seen: Counter[str] = Counter()
    places = []
    for row in rows:
        seen[row["repo"]] += 1
        places.append(seen[row["repo"]])
    return [row for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])]


def measure(row: Row, settings: Settings) -> Measured | None:
    """Climb, and run the golden suite in what was built; null where that failed for reasons of ours."""
    instance = _take(row, settings)
    try:
        climbed, build = _timed(lambda: climb_for(settings.places, CheckSettings(sandbox=settings.sandbox), instance))
    except NotFound as error:
        return replace(_measured(row, None, Spent()), complaint=str(error))
    except InfrastructureError as error:
        print(f"{instance.instance_id}: {error}", file=sys.stderr)
        return None
    if climbed.built is None:
        return _measured(row, climbed, build)
    record(Store(settings.store), instance, climbed)
    env_id = climbed.built.environment.env_id
    earlier = _runs_so_far(settings, instance, env_id)
    ran, check = _timed(lambda: _run(settings, instance, env_id, Purpose.JUDGE))
    if ran.left:
        print(f"{instance.instance_id}: {ran.left[0].detail}", file=sys.stderr)
        return None
    made = _runs_so_far(settings, instance, env_id).cpu_s  # the supervisor is waited for at the very end only
    return replace(
        _measured(row, climbed, build), check=Spent(wall_s=earlier.wall_s + check.wall_s, cpu_s=check.cpu_s + made)
    )


def _runs_so_far(settings: Settings, instance: TaskInstance, env_id: EnvId) -> Spent:
    """What a measurement that was ended halfway has spent on runs that are not made again."""
    runs = Store(settings.store).read(Run, instance_key=instance.instance_key, env_id=env_id)
    return Spent(wall_s=sum(run.wall_s for run in runs), cpu_s=sum(run.cpu_s or 0.0 for run in runs))


def _take(row: Row, settings: Settings) -> TaskInstance:
    """The row as a snapshot of one instance, with its golden suite."""
    name = row["instance_id"]
    file = Path(settings.store).parent / f"{name}.jsonl"
    file.write_text(json.dumps({"problem_statement": "-", **row}) + "\n")
    print(import_rows(settings, file, name), file=sys.stderr)
    chosen = choose_instances(settings.places, name, ())
    take_candidates(settings.places, ("golden",), chosen, Policy.TESTS_ONLY, references=False)
    return chosen[0]


def _timed(work: Callable[[], Result]) -> tuple[Result, Spent]:
    began, used = time.monotonic(), sum(os.times()[:4])
    result = work()
    return result, Spent(wall_s=round(time.monotonic() - began, 2), cpu_s=round(sum(os.times()[:4]) - used, 2))


def _run(settings: Settings, instance: TaskInstance, env_id: EnvId, purpose: Purpose) -> Ran:
    places, name = settings.places, instance.instance_id
    suites = tuple(golden_suites(places, instance.snapshot, (name,)).values())
    run = RunSettings(sandbox=settings.sandbox, limits=settings.limits, tracer=Tracer.NONE)
    if not suites:
        return Ran()
    unit = SuiteRuns(snapshot=instance.snapshot, instance_id=name, env_id=env_id, suite_ids=suites, purpose=purpose)
    return run_suites(places, run, unit)


def _measured(row: Row, climbed: Climb | None, build: Spent) -> Measured:
    environment = climbed.built.environment if climbed and climbed.built else None
    attempts = climbed.attempts if climbed else ()
    return Measured(
        instance=row["instance_id"],
        repo=row["repo"],
        date=str(row["created_at"])[:10],
        origin=row["origin"],
        env_id=environment.env_id if environment else "",
        python=environment.python if environment else "",
        runner=str(environment.runner) if environment else "",
        rung=next((one.rung for one in attempts if one.env_id), ""),
        failed_rungs={one.rung: one.error[:ERROR_WIDTH] for one in attempts if not one.env_id},
        causes={one.rung: one.cause for one in attempts if not one.env_id},
        complaint="",
        build=build,
        check=Spent(),
    )


def judge(rows: Mapping[str, Row], measured: Sequence[Measured], settings: Settings) -> list[Judged]:
    """Every measured commit with its judgement, by the runs in the store."""
    ensure_views(settings.store, settings.database, settings.sql)
    return [_judged(rows[one.instance], one, settings) for one in measured]


def _judged(row: Row, one: Measured, settings: Settings) -> Judged:
    places, store = settings.places, Store(settings.store)
    (instance,) = choose_instances(places, one.instance, ())
    env_id = EnvId(one.env_id) if one.env_id else None
    missed = golden_misses(settings.database, one.instance)[instance.instance_id]
    if env_id and missed:
        _run(settings, instance, env_id, Purpose.DOUBT)
    asked = ToJudge(instance_id=instance.instance_id, env_id=env_id, golden=missed)
    (validation,) = judge_instances(places, one.instance, (asked,))
    listed = row.get("FAIL_TO_PASS")
    names = json.loads(listed) if isinstance(listed, str) else listed
    return Judged(
        measured=one,
        validation=validation,
        listed=len(names) if names else None,
        contained=_contained(store, validation, names) if names else None,
    )


def _contained(store: Store, judged: Validation, names: Iterable[str]) -> int:
    """How many of the dataset's names our F→P cases have."""
    if judged.env_id is None:
        return 0
    asked = {"instance_key": judged.instance_key, "env_id": judged.env_id, "suite_kind": SuiteKind.GOLDEN}
    cases = store.read(CaseStability, **asked)
    ours = {name for case in cases if case.stability is Stability.FAIL_TO_PASS for name in names_of(case)}
    return len(set(names) & ours)


def names_of(case: CaseStability) -> set[str]:
    """What a dataset may call a case: its label, a line of that where it has a docstring, sympy's function without a
    file, unittest's `method (class)` whatever this Python makes of it."""
    owner, _, method = case.case_id.rpartition(".")
    return {case.label, *case.label.splitlines(), case.label.rpartition("::")[2], f"{method} ({owner})"}


def load(path: Path) -> list[Measured]:
    """All that is measured so far."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [_read(json.loads(line)) for line in lines]


def _read(facts: dict[str, Any]) -> Measured:
    return Measured(**{**facts, "build": Spent(**facts["build"]), "check": Spent(**facts["check"])})


def _keep(measured: Measured | None, path: Path) -> None:
    if measured is None:
        return
    with path.open("a", encoding="utf-8") as target:
        target.write(json.dumps(asdict(measured)) + "\n")
    seconds = f"build {measured.build.wall_s:.0f} s, check {measured.check.wall_s:.0f} s"
    print(f"{measured.instance}: {measured.rung or 'no rung'} {measured.python}, {seconds}", file=sys.stderr)


def _forget(path: Path, names: Sequence[str]) -> None:
    kept = [one for one in load(path) if one.instance not in names]
    if path.exists():
        path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
