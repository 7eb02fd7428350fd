"""Probes against coverage.py, line by line and context by context, on a module with a line of every kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tasks.adapters.runner.job import RunnerJob
from tasks.domain.names import LineNo, RepoPath
from tasks.domain.outcome import RunnerKind, Tracer
from tasks.domain.run import Watch

pytestmark = [pytest.mark.network, pytest.mark.slow]

HERE = Path(__file__).parent
MODULE = (HERE / "torture_module.txt").read_text(encoding="utf-8")
MATCHING = (HERE / "torture_match.txt").read_text(encoding="utf-8")
CASES = (HERE / "torture_cases.txt").read_text(encoding="utf-8")
VERSIONS = ["3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]

ONLY_PROBES = {
    # The first line of a statement whose operands stand on later lines: it runs once the statement starts for us, and
    # for coverage.py once the interpreter is done with the operands (if it ever is).
    "raising": ("y = (", {"3.8", "3.9", "3.10", "3.11", "3.12", "3.13"}),
    "ternary_yes": ("return (", {"3.8", "3.9"}),
    "chain": ("return (", {"3.8", "3.9"}),
    "checks": ("assert (", {"3.12", "3.13"}),
}
"""Case → (its line, where): lines that coverage.py does not see. There is none that only coverage.py sees."""


def both(python: str, libraries: Path, checkout: Path, run, path: str, tests: str):
    lines = tuple(LineNo(n + 1) for n in range(len((checkout / path).read_text().splitlines())))
    job = RunnerJob(
        kind=RunnerKind.UNITTEST,
        files=(RepoPath(tests),),
        watch=(Watch(path=RepoPath(path), lines=lines),),
        tracer=Tracer.PROBE,
    )
    return run(python, checkout, job), run(python, checkout, replace(job, tracer=Tracer.COVERAGE), libraries)


def named(lines: set[tuple[str, str | None, int]], source: list[str]) -> set[tuple[str, str]]:
    return {(str(case).rpartition("test_")[2], source[line - 1].strip()) for _, case, line in lines}


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_they_agree(python: str, request, libraries, project, run) -> None:
    minor = request.node.callspec.params["python"]
    checkout = project({"pkg/__init__.py": "", "pkg/torture.py": MODULE, "tests/test_t.py": CASES})
    ours, theirs = both(python, libraries(minor), checkout, run, "pkg/torture.py", "tests/test_t.py")
    assert set(ours.outcomes.values()) == {"passed/call"}
    assert ours.outcomes == theirs.outcomes
    assert [file.executable for file in ours.report.watched] == [file.executable for file in theirs.report.watched]
    source = MODULE.splitlines()
    assert len(theirs.lines) > 200
    assert theirs.lines - ours.lines == set()
    known = {(case, line) for case, (line, where) in ONLY_PROBES.items() if minor in where}
    assert named(ours.lines - theirs.lines, source) == known


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"], indirect=True)
def test_they_agree_on_newer_syntax(python: str, request, libraries, project, run) -> None:
    minor = request.node.callspec.params["python"]
    cases = "import unittest\nfrom pkg import m\nclass Cases(unittest.TestCase):\n"
    for n, value in enumerate(["1", "'a'", "[1, 2]", "{'k': 1}", "None", "(9, 9, 9)"]):
        cases += f"    def test_{n}(self):\n        m.match({value})\n"
    checkout = project({"pkg/__init__.py": "", "pkg/m.py": MATCHING, "tests/test_m.py": cases})
    ours, theirs = both(python, libraries(minor), checkout, run, "pkg/m.py", "tests/test_m.py")
    assert ours.outcomes == theirs.outcomes
    assert len(theirs.lines) > 30
    source = MATCHING.splitlines()
    assert (named(theirs.lines - ours.lines, source), named(ours.lines - theirs.lines, source)) == (set(), set())
