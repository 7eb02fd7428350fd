"""CPU seconds of the ways to watch lines, as ratios to a plain run of the same test files.

    python -m benchmarks.coverage_overhead --python 3.9 --python 3.12

`probe` and `coverage` are the tracers of our runner, `settrace` a line counter like the public harness's, around our
runner without a tracer of its own. Repetitions are interleaved, so that all ways see the same machine; medians count.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from benchmarks.inside import TRACER
from benchmarks.measured import Cost, cost_of, machine, text_table
from benchmarks.workloads import WORKLOADS, Workload
from flows.interface.settings import Settings
from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.runner.job import INSIDE, RunnerJob, runner_argv, write_job
from tasks.adapters.runner.report import read_report
from tasks.adapters.runner.seal import new_seal
from tasks.adapters.uv.interpreters import find_uv, machine_interpreters, pick
from tasks.changed_lines.task import changed_lines
from tasks.domain.names import InstanceKey, RepoPath, RunKey, sorted_lines
from tasks.domain.outcome import Tracer
from tasks.domain.run import PathRange, Watch
from tasks.evaluate.runs.probed_files import group_starts, probe_ranges

CACHE = Settings().cache
WAYS = ("plain", "probe", "coverage", "settrace")
TIMEOUT_S = 900.0
COVERAGE = "coverage==7.10.7"
"""The newest that still runs on CPython 3.9."""


def main(
    work: Annotated[Path, typer.Option(help="Folder for environments, checkouts and results.")] = Path(
        "benchmark-work"
    ),
    cache: Annotated[Path, typer.Option(help="Has the mirrors.")] = CACHE,
    python: Annotated[list[str] | None, typer.Option(help="Minor versions; may be repeated.")] = None,
    workload: Annotated[list[str] | None, typer.Option(help="Names of workloads.")] = None,
    repeats: Annotated[int, typer.Option(help="Repetitions of each way.")] = 5,
) -> None:
    """Measure every way on every workload and interpreter, and print medians and ratios."""
    rows = []
    for minor in python or ["3.9", "3.12"]:
        for chosen in (one for one in WORKLOADS if one.name in (workload or [each.name for each in WORKLOADS])):
            stage = Stage.of(chosen, minor, work.absolute(), cache)
            rows.append(_row(stage, stage.measure(repeats)))
            print(" | ".join(rows[-1]), file=sys.stderr)
    print(f"{machine()}\n\n{text_table(HEAD, rows)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One workload on one interpreter: an environment, a checkout without bytecode, and the lines to watch."""

    workload: Workload
    python: Path
    version: str
    checkout: Path
    folder: Path
    watch: tuple[Watch, ...]
    probe: tuple[PathRange, ...]
    """What gets probes: the groups that hold the watched files."""
    seals: dict[str, bytes] = field(default_factory=dict)
    """Of the latest run of each way."""

    @staticmethod
    def of(workload: Workload, minor: str, work: Path, cache: Path) -> Stage:
        """Builds what is not there yet; nothing of it is measured."""
        interpreter = pick(machine_interpreters(), minor)
        folder = work / f"{workload.name}-{interpreter.version}"
        checkout = folder / "checkout"
        mirrors = Mirrors(cache / "mirrors")
        if not checkout.exists():
            Trees(mirrors, work / "trees").checkout(workload.repo, workload.commit, checkout)
            for path, text in workload.generated:
                (checkout / path).write_text(text, encoding="utf-8")
        watch = _watch(mirrors.path(workload.repo), workload.commit)
        starts = group_starts(mirrors.list_paths(workload.repo, workload.commit))
        return Stage(
            workload=workload,
            python=_environment(workload, interpreter.path, folder),
            version=interpreter.version,
            checkout=checkout,
            folder=folder,
            watch=watch,
            probe=probe_ranges(starts, [one.path for one in watch]),
        )

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """{way: CPU seconds of each repetition}, after one round that is thrown away."""
        found: dict[str, list[float]] = defaultdict(list)
        for repeat in range(repeats + 1):
            for way in WAYS:
                cost = self._once(way)
                if repeat:
                    found[way].append(cost.cpu_s)
        self._check_same_outcomes()
        return found

    def _once(self, way: str) -> Cost:
        tracer = {"probe": Tracer.PROBE, "coverage": Tracer.COVERAGE}.get(way, Tracer.NONE)
        outbox = self.folder / way
        outbox.mkdir(exist_ok=True)
        report = outbox / "report.jsonl"
        report.unlink(missing_ok=True)
        config = write_job(outbox, self._job(tracer), PurePosixPath(report))
        self.seals[way] = new_seal(outbox)
        argv = runner_argv(str(self.python), str(INSIDE), str(config))
        if way == "settrace":
            watched = [str(self.checkout / watch.path) for watch in self.watch]
            argv = (argv[0], str(TRACER), str(outbox / "lines.json"), *watched, "--", *argv[1:])
        return cost_of(argv, cwd=self.checkout, env=_ENV, log=outbox / "log", timeout=TIMEOUT_S)

    def _job(self, tracer: Tracer) -> RunnerJob:
        return RunnerJob(
            kind=self.workload.runner,
            files=tuple(map(RepoPath, self.workload.test_files)),
            test_args=self.workload.test_args,
            source_roots=self.workload.source_roots,
            pythonpath=True,
            watch=self.watch,
            probe=self.probe,
            tracer=tracer,
        )

    def _check_same_outcomes(self) -> None:
        """Ways that do not run the same tests to the same end cannot be compared."""
        seen = {way: dict(self._outcomes(way)) for way in WAYS}
        cases = seen["plain"]
        print(f"{self.folder.name}: {len(cases)} cases, {_passed(cases)} passed", file=sys.stderr)
        for way in WAYS:
            if different := {
                name for name in cases.keys() | seen[way].keys() if cases.get(name) != seen[way].get(name)
            }:
                print(f"  {way}: {len(different)} cases differ from plain: {sorted(different)[:3]}", file=sys.stderr)

    def _outcomes(self, way: str) -> Iterator[tuple[str, str]]:
        report = read_report(self.folder / way / "report.jsonl", RunKey("benchmark"), self.seals[way], self.watch)
        if not report.completed or not report.cases or (way in ("probe", "coverage") and not report.hits):
            raise SystemExit(f"{self.folder.name}: {way} did not run to its end; see {self.folder / way / 'log'}")
        for case in report.cases:
            yield case.case_id, case.outcome


_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def _passed(cases: dict[str, str]) -> int:
    return sum(outcome == "passed" for outcome in cases.values())


def _environment(workload: Workload, interpreter: Path, folder: Path) -> Path:
    """A virtual environment with the workload's requirements and coverage.py, compiled."""
    python = folder / "environment" / "bin" / "python"
    if not python.exists():
        uv = str(find_uv())
        subprocess.run([uv, "venv", "-q", "--python", str(interpreter), str(python.parents[1])], check=True)
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", str(python)]
        subprocess.run([*install, COVERAGE, *workload.requirements], check=True)
        _write_metadata(workload, python.parents[1])
    return python


def _write_metadata(workload: Workload, environment: Path) -> None:
    """What an editable install would leave, for code that looks for its own distribution."""
    if workload.metadata:
        name, _, version = workload.metadata.partition("==")
        (site,) = environment.glob("lib/python*/site-packages")
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def _watch(mirror: Path, commit: str) -> tuple[Watch, ...]:
    """The lines that the commit itself changes in Python files that are not tests."""
    argv = ["git", "-C", str(mirror), "show", "--format=", commit]
    diff = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    lines: dict[RepoPath, set[int]] = defaultdict(set)
    for change in changed_lines(InstanceKey(commit), diff):
        if not is_test_path(change.path):
            lines[change.path].add(change.line)
    return tuple(Watch(path=path, lines=sorted_lines(numbers)) for path, numbers in sorted(lines.items()))


HEAD = ("suite", "CPython", "plain, CPU s", "probe", "coverage.py", "settrace", "spread of plain")


def _row(stage: Stage, costs: dict[str, list[float]]) -> tuple[str, ...]:
    plain = statistics.median(costs["plain"])
    ratios = [_ratio(costs[way], plain) for way in WAYS[1:]]
    low, high = min(costs["plain"]) / plain, max(costs["plain"]) / plain
    return (stage.workload.name, stage.version, f"{plain:.2f}", *ratios, f"{low:.2f}–{high:.2f}")


def _ratio(values: Sequence[float], plain: float) -> str:
    middle = statistics.median(values)
    return f"{middle / plain:.2f} ({middle:.2f} s)"


if __name__ == "__main__":
    typer.run(main)
