"""Environments without any recipe, on real base commits: how many build, how many validate, how long each takes.

    python -m benchmarks.environment_inference lite.jsonl verified.jsonl --history pallets/flask --work FOLDER

For each commit the ladder of inference is climbed as of the commit's date, and the golden tests run in what it built,
before and after the golden patch, without a network; where that solves nothing, once more with one and twice without.
The judgement is the one of `swt validate`, on fewer runs. data/environments and the rows' versions are not read.

What was measured is kept in the work folder: called again, it goes on where it was. `--again ID` forgets one of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypeVar

import typer

from benchmarks.base_commits import Row, file_rows, history_rows
from benchmarks.measured import machine, text_table
from flows.evaluation import EvaluationRequest, run_evaluation
from flows.fan_out import Threads
from flows.importing import import_rows
from flows.settings import PROJECT, Settings
from flows.validation import golden_reasons
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.warehouse import Store
from tasks.domain.environment import Environment, EnvironmentAttempt
from tasks.domain.errors import SwtError
from tasks.domain.names import EnvId, InstanceId
from tasks.domain.outcome import SandboxKind, SuiteKind
from tasks.domain.places import Places
from tasks.domain.validation import CaseStability, Reason, Stability, Validation
from tasks.environment.task import prepare_environment
from tasks.evaluate.task import Purpose, run_suites
from tasks.scrape.repositories import find_repository, read_repositories
from tasks.validate.task import ToJudge, golden_suites, judge_instances

CACHE = Settings().cache
SNAPSHOT = "benchmark"
MEASURED = "environment_inference.jsonl"
ERROR_WIDTH = 600
Result = TypeVar("Result")


class WithoutRecipes(Settings):
    """Settings that know of no recipe."""

    @property
    def places(self) -> Places:
        return Places(store=self.store, cache=self.cache, recipes=self.cache / "no-recipes", scratch=self.scratch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds of one step."""

    wall_s: float
    cpu_s: float
    """Of this process and of all that it started and waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One base commit."""

    instance: str
    repo: str
    date: str
    """Day of the base commit (of the merge, where it is from the history), UTC."""
    origin: str
    """`dataset` or `history`."""
    python: str
    """Empty where nothing was built."""
    rung: str
    """The rung in use; empty where none was built."""
    runner: str
    failed_rungs: dict[str, str]
    """Rung → what its tool said."""
    reason: str
    """Of the judgement; empty where the instance is valid."""
    detail: str
    fail_to_pass: int
    pass_to_pass: int
    listed: int | None
    """Cases that the dataset's FAIL_TO_PASS names; null where it has no list."""
    contained: int | None
    """Of these, how many are among ours."""
    build: Spent
    check: Spent

    @property
    def built(self) -> bool:
        return bool(self.python)

    @property
    def valid(self) -> bool:
        """Judged valid, with all that the dataset lists."""
        return not self.reason and self.listed == self.contained


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
    _forget(work / MEASURED, again or ())
    mirrors = Mirrors(own / "mirrors")
    known = read_repositories(PROJECT / "data" / "repositories.toml")
    chosen = file_rows(mirrors, rows, repo or (), each)
    for name in history or ():
        chosen += history_rows(mirrors, find_repository(known, name), each)
    done = {one.instance for one in load(work / MEASURED)}
    for row in _in_turn(chosen):
        if row["instance_id"] not in done:
            done.add(row["instance_id"])
            _keep(measure(row, work, own), work / MEASURED)
    wanted = {row["instance_id"] for row in chosen}
    measured = [one for one in load(work / MEASURED) if one.instance in wanted]
    print(f"{machine()}\n\n{table(measured)}\n\n{commits(measured)}")


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


def measure(row: Row, work: Path, cache: Path) -> Measured | None:
    """Build and judge one commit in a store of its own; null where it failed for reasons of ours."""
    name = InstanceId(row["instance_id"])
    folder = work / "stores" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "row.jsonl").write_text(json.dumps({**row, "problem_statement": "", "hints_text": ""}) + "\n")
    settings = WithoutRecipes(
        store=str(folder / "store"),
        cache=cache,
        database=folder / "swt.duckdb",
        sandbox=SandboxKind.BUBBLEWRAP,
        workers=1,
    )
    print(import_rows(settings, folder / "row.jsonl", SNAPSHOT), file=sys.stderr)
    no_python = ""
    env_id: EnvId | None = None
    try:
        env_id, build = _timed(lambda: prepare_environment.fn(settings.places, SNAPSHOT, name))
    except SwtError as error:
        if error.retry:
            print(f"{name}: {error}", file=sys.stderr)
            return None
        no_python, build = str(error), Spent(wall_s=0.0, cpu_s=0.0)
    judged, check = _timed(lambda: _judge(settings, name, env_id))
    if judged.reason is Reason.INFRASTRUCTURE and not no_python:
        print(f"{name}: {judged.detail}", file=sys.stderr)
        return None
    measured = _measured(row, Store(settings.store), judged, build, check)
    return replace(measured, reason=Reason.INSTALL_ERROR, detail=no_python) if no_python else measured


def _timed(work: Callable[[], Result]) -> tuple[Result, Spent]:
    began, used = time.monotonic(), sum(os.times()[:4])
    result = work()
    return result, Spent(wall_s=round(time.monotonic() - began, 2), cpu_s=round(sum(os.times()[:4]) - used, 2))


def _judge(settings: Settings, name: InstanceId, env_id: EnvId | None) -> Validation:
    """The golden suite before and after; where that is no success, the runs that tell why."""
    request = EvaluationRequest(
        candidates=("golden",), snapshot=SNAPSHOT, instances=(name,), coverage=False, confirm=False, guards=False
    )
    summary = run_evaluation(request, settings, Threads(1))
    reason = golden_reasons(settings, SNAPSHOT)[name]
    suites = golden_suites(settings.places, SNAPSHOT, (name,))
    if reason and env_id and name in suites:
        run = request.run_settings(settings)
        run_suites.fn(settings.places, run, SNAPSHOT, name, env_id, (suites[name],), Purpose.DOUBT)
    asked = ToJudge(instance_id=name, env_id=env_id, golden_reason=reason, trouble=summary.troubled.get(name, ""))
    (judged,) = judge_instances.fn(settings.places, SNAPSHOT, (asked,))
    return judged


def _measured(row: Row, store: Store, judged: Validation, build: Spent, check: Spent) -> Measured:
    environment = store.read(Environment, env_id=judged.env_id)[0] if judged.env_id else None
    attempts = store.read(EnvironmentAttempt, instance_key=judged.instance_key)
    listed = row.get("FAIL_TO_PASS")
    names = json.loads(listed) if isinstance(listed, str) else listed
    return Measured(
        instance=row["instance_id"],
        repo=row["repo"],
        date=str(row["created_at"])[:10],
        origin=row["origin"],
        python=environment.python if environment else "",
        rung=next((one.rung for one in attempts if one.env_id), ""),
        runner=str(environment.runner) if environment else "",
        failed_rungs={one.rung: one.error[:ERROR_WIDTH] for one in attempts if not one.env_id},
        reason=str(judged.reason),
        detail=judged.detail[:ERROR_WIDTH],
        fail_to_pass=judged.fail_to_pass,
        pass_to_pass=judged.pass_to_pass,
        listed=len(names) if names else None,
        contained=_contained(store, judged, names) if names else None,
        build=build,
        check=check,
    )


def _contained(store: Store, judged: Validation, names: Iterable[str]) -> int:
    """How many of the dataset's names our F→P cases have; sympy's are functions without their file."""
    cases = store.read(CaseStability, instance_key=judged.instance_key, suite_kind=SuiteKind.GOLDEN)
    labels = {case.label for case in cases if case.stability is Stability.FAIL_TO_PASS}
    labels |= {label.rpartition("::")[2] for label in labels}
    return len(set(names) & labels)


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
    verdict = measured.reason or "valid"
    print(
        f"{measured.instance}: {measured.rung or 'no rung'}, {measured.python}, {verdict}, {seconds}", file=sys.stderr
    )


def _forget(path: Path, names: Sequence[str]) -> None:
    kept = [one for one in load(path) if one.instance not in names]
    if path.exists():
        path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept), encoding="utf-8")


HEAD = (
    "repository",
    "commits",
    "years",
    "built",
    "valid",
    "the dataset's F2P found",
    "rungs",
    "build, wall s",
    "CPU s",
    "check, wall s",
    "CPU s",
    "why not",
)


def table(measured: Sequence[Measured]) -> str:
    """One line per repository and one for all; seconds are medians, with the greatest in brackets."""
    repos = sorted({one.repo for one in measured})
    rows = [_line(repo, [one for one in measured if one.repo == repo]) for repo in repos]
    return text_table(HEAD, [*rows, _line("all", measured)])


def _line(name: str, some: Sequence[Measured]) -> tuple[str, ...]:
    years = sorted(one.date[:4] for one in some)
    listed = [one for one in some if one.listed is not None]
    return (
        name,
        str(len(some)),
        f"{years[0]}–{years[-1]}",
        str(sum(one.built for one in some)),
        str(sum(one.valid for one in some)),
        f"{sum(one.listed == one.contained for one in listed)} of {len(listed)}" if listed else "–",
        _counts(one.rung for one in some if one.rung),
        *_seconds([one.build for one in some if one.built]),
        *_seconds([one.check for one in some if one.built]),
        _counts(one.reason or "f2p not contained" for one in some if not one.valid) or "–",
    )


def _seconds(spent: Sequence[Spent]) -> tuple[str, str]:
    if not spent:
        return "–", "–"
    walls, cpus = [one.wall_s for one in spent], [one.cpu_s for one in spent]
    return f"{median(walls):.0f} ({max(walls):.0f})", f"{median(cpus):.0f} ({max(cpus):.0f})"


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in Counter(words).most_common())


def commits(measured: Sequence[Measured]) -> str:
    """One line per commit that is not valid, and one per rung that failed."""
    lines = []
    for one in (one for one in measured if not one.valid or one.failed_rungs):
        found = f"{one.contained} of {one.listed} listed" if one.listed is not None else "no list"
        lines.append(f"{one.instance} ({one.date}, {one.python}, {one.rung}): {one.reason or 'valid'}, {found}")
        lines += [f"    {one.detail}"] * bool(one.detail)
        lines += [f"    {rung}: {error}" for rung, error in one.failed_rungs.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
