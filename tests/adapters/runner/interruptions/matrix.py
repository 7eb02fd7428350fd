"""What becomes of three cases when the second is interrupted: runner × interruption × place, run for real.

`python tests/adapters/runner/interruptions/matrix.py [--write]` prints the whole table, or keeps it in `expected.txt`.
Every case writes a line of its own when it gets to its end, so a pass can be told from a claim.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from textwrap import indent
from typing import Any

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.txt"
TIME_LIMIT_S = 4.0
FILES = ("tests/test_a.py", "tests/test_b.py", "tests/test_c.py")

sys.path[:0] = [str(HERE.parents[2] / "shared")]

from script_projects import DJANGO, SYMPY  # noqa: E402

from tasks.adapters.runner.job import INSIDE, RunnerJob, runner_argv, write_job  # noqa: E402
from tasks.adapters.runner.report import Report, read_report  # noqa: E402
from tasks.adapters.runner.seal import new_seal  # noqa: E402
from tasks.domain.names import RepoPath, RunKey  # noqa: E402
from tasks.domain.outcome import Outcome, RunnerKind  # noqa: E402


@dataclass(frozen=True)
class Cell:
    """One interruption at one place of one runner."""

    runner: str
    interruption: str
    place: str
    code: str
    args: tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """What the three cases, and anything else that has a row, are said to have done."""

    outcomes: Mapping[str, str]
    """`1`, `2`, `3` for the cases, otherwise the case id → `outcome/phase`."""
    ended: frozenset[str]
    """Cases that got to their end, by their own word; the second has a body and a teardown that is made up for it."""
    exit_code: int
    log: str
    """What the runner printed, and what its report says of itself: for whoever reads a failed test."""

    def __str__(self) -> str:
        return " ".join(f"{name}:{outcome}" for name, outcome in sorted(self.outcomes.items()))


def cells() -> Iterator[Cell]:
    """All of them, runner by runner."""
    stated: dict[str, Any] = tomllib.loads((HERE / "cells.toml").read_text("utf-8"))
    for runner, places in stated["places"].items():
        for name, facts in stated["interruption"].items():
            if runner in facts.get("runners", stated["places"]):
                for place in places:
                    yield Cell(runner, name, place, facts["code"].strip(), tuple(facts.get("args", {}).get(runner, ())))


def run_cell(cell: Cell, python: str, libraries: Path | None, folder: Path) -> Seen:
    """Run it in `folder`, which is empty."""
    for name, text in _project(cell).items():
        target = folder / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    job = RunnerJob(
        kind=RunnerKind(cell.runner),
        files=tuple(RepoPath(name) for name in FILES),
        test_args=("-C", *cell.args) if cell.runner == "sympy" else cell.args,
        pythonpath=True,
    )
    report = folder / "report.jsonl"
    argv = runner_argv(python, str(INSIDE), str(write_job(folder, job, PurePosixPath(report))))
    seal = new_seal(folder)
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "EVIDENCE": str(folder / "evidence")}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins that happen to be here take more than pytest itself
    env |= {"PYTHONPATH": str(libraries)} if libraries else {}
    code, timed_out = _process(argv, env, folder)
    found = read_report(report, RunKey("run"), seal)
    whole = found.completed and not found.complaint
    under_way = Outcome.TIMEOUT if timed_out else Outcome.ERROR
    settled = found.settled(job.files, found.complaint or "it ended", under_way=under_way, cut=not whole)
    evidence = folder / "evidence"
    ended = evidence.read_text().split() if evidence.exists() else []
    passed = frozenset(name.removeprefix("test_") for name in ended)
    return Seen(dict(_outcomes(settled)), passed, code, _log(folder, found, timed_out))


def _log(folder: Path, found: Report, timed_out: bool) -> str:
    facts = f"completed {found.completed}, complaint {found.complaint!r}, out of time {timed_out}"
    return f"{facts}\n{(folder / 'log').read_text('utf-8', errors='replace')}"


def _project(cell: Cell) -> dict[str, str]:
    base = {"django": DJANGO, "sympy": SYMPY}.get(cell.runner, {})
    files = {name: text for name, text in base.items() if "/test_" not in name and name != "test_new.py"}
    for part in (HERE / f"{cell.runner}.txt").read_text("utf-8").split("=== ")[1:]:
        name, _, text = part.partition("\n")
        files[name] = text
    common = (HERE / "common.txt").read_text("utf-8")
    files["common.py"] = common.replace("@PLACE@", cell.place).replace("@CODE@", indent(cell.code, "    "))
    return files


def _process(argv: Sequence[str], env: Mapping[str, str], folder: Path) -> tuple[int, bool]:
    """(exit code, whether it ran out of time), in a session of its own."""

    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            argv,
            cwd=folder / "checkout",
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # Who was started behind `&` ignores SIGINT, and hands that on to all that it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            return process.wait(
                TIME_LIMIT_S if "sleep(60)" in (folder / "checkout/common.py").read_text() else 60
            ), False
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait(), True


def _outcomes(report: Report) -> Iterator[tuple[str, str]]:
    for row in report.cases:
        name = row.case_id.rpartition("test_")[2] if row.case_id[-1] in "123" else row.case_id
        yield name.replace("tests/", "").replace("tests.", ""), f"{row.outcome}/{row.phase}"


def line(cell: Cell, seen: Seen) -> str:
    """A row of the table."""
    return f"{cell.runner} | {cell.interruption} | {cell.place} | {seen}"


def claims(seen: Seen) -> set[str]:
    """Cases that are called passed and never got to their end."""
    whole = seen.ended if "body" in seen.ended else seen.ended - {"2"}
    return {name for name in "123" if seen.outcomes.get(name, "").startswith("passed")} - whole


def table(chosen: Sequence[Cell], python: str, libraries: Path, workers: int = 2) -> list[tuple[Cell, Seen]]:
    """What becomes of each cell."""
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(workers) as pool:

        def run(place: int) -> Seen:
            folder = Path(base) / str(place)
            folder.mkdir()
            return run_cell(chosen[place], python, libraries if chosen[place].runner == "pytest" else None, folder)

        return list(zip(chosen, pool.map(run, range(len(chosen))), strict=True))


def alone(cell: Cell, python: str, libraries: Path) -> Seen:
    """What becomes of one cell with nothing beside it."""
    ((_, seen),) = table([cell], python, libraries, workers=1)
    return seen


if __name__ == "__main__":
    found = table(list(cells()), sys.executable, Path(__import__("pytest").__file__).parent.parent)
    text = "".join(line(*pair) + "\n" for pair in found)
    EXPECTED.write_text(text, "utf-8") if "--write" in sys.argv else print(text, end="")
    sys.exit(any(claims(seen) for _, seen in found))
