"""Rows that share base commit and golden tests but not the golden patch share runs: each of them is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from scratch_git import git
from typer.testing import CliRunner

from flows.cli import app
from tasks.adapters.sandbox.pick import available
from tasks.adapters.store.database import query
from tasks.adapters.store.warehouse import Store
from tasks.domain.run import Run

REPO = "rolling-swt-bench/larder"
"""The repository whose recipe is the interpreter that runs this."""
CORE = """def add(a, b):
    \"\"\"Sum.\"\"\"
    if a is None:
        return b
    return a - b


def head(items):
    return items[0]
"""
PROJECT = '[project]\nname = "core"\nversion = "0.1"\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
TESTS = """from core import add, head


def test_add():
    assert add(1, 2) == 3


def test_none():
    assert add(None, 2) == 2
"""
FIXES = {
    "first": CORE.replace("a - b", "a + b"),
    "revised": CORE.replace("a - b", "b + a"),
    "wrong": CORE.replace("a - b", "a * b"),
}
"""Name of a golden patch → the fixed module. `wrong` is what a later row corrects."""
SOLVED = {"first": True, "revised": True, "wrapped": True, "wrong": False}

Swt = Callable[..., tuple[int, str]]


@pytest.fixture
def swt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Swt:
    """A command on an empty machine: its exit code, and all that it says."""
    places = {"STORE": "store", "CACHE": "cache", "DATABASE": "swt.duckdb", "SCRATCH": "scratch"}
    for name, value in places.items():
        monkeypatch.setenv(f"SWT_{name}", str(tmp_path / value))
    monkeypatch.setenv("SWT_SANDBOX", str(next(probe.kind for probe in available() if probe.usable)))

    def run(*argv: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, argv, catch_exceptions=False)
        return done.exit_code, done.output

    return run


@pytest.fixture
def rows(tmp_path: Path, swt: Swt) -> dict[str, Path]:
    """The name of each golden patch → a file with the row of an instance that it is the golden patch of."""
    project = tmp_path / "project"
    git(tmp_path, "init", "-q", str(project))
    (project / "tests").mkdir()
    (project / "core.py").write_text(CORE)
    (project / "pyproject.toml").write_text(PROJECT)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "base")
    base = git(project, "rev-parse", "HEAD")
    patches = dict(_patches(project))
    patches["wrapped"] = f"<patch>\n{patches['first']}</patch>\n"
    (project / "tests" / "test_core.py").write_text(TESTS)
    git(project, "add", "-A")
    test_patch = git(project, "diff", "--cached") + "\n"
    assert swt("repo", "add", REPO, "--git", str(project))[0] == 0
    files = {}
    for name, patch in patches.items():
        row = {
            "repo": REPO,
            "instance_id": "rolling-swt-bench__larder-1",
            "base_commit": base,
            "patch": patch,
            "test_patch": test_patch,
            "problem_statement": "add does not add",
            "version": "0.1",
            "FAIL_TO_PASS": ["tests/test_core.py::test_add"],
            "PASS_TO_PASS": ["tests/test_core.py::test_none"],
        }
        files[name] = tmp_path / f"{name}.jsonl"
        files[name].write_text(json.dumps(row) + "\n")
    return files


def _patches(project: Path) -> Iterator[tuple[str, str]]:
    for name, fixed in FIXES.items():
        (project / "core.py").write_text(fixed)
        yield name, git(project, "diff") + "\n"
    (project / "core.py").write_text(CORE)


def ask(tmp_path: Path, sql: str) -> list[dict[str, Any]]:
    return query(tmp_path / "swt.duckdb", sql).to_pylist()


def unjoined(tmp_path: Path) -> list[dict[str, Any]]:
    """The rows of the two audits of requests."""
    return ask(tmp_path, "FROM audit_request_not_joined") + ask(tmp_path, "FROM audit_request_unanswered")


@pytest.mark.parametrize("order", [*permutations(["first", "revised"]), ("first", "wrapped"), ("wrong", "revised")])
@pytest.mark.parametrize("more", [(), ("--no-coverage",)], ids=["traced", "untraced"])
def test_the_second_of_two_rows_with_one_base_is_measured(
    swt: Swt, rows: dict[str, Path], tmp_path: Path, order: tuple[str, ...], more: tuple[str, ...]
) -> None:
    for name in order:
        assert swt("import", str(rows[name]), "--snapshot", name)[0] == 0
        code, said = swt("evaluate", "golden", "--snapshot", name, "--trusted", *more)
        assert code == 0 or not SOLVED[name], said
    found = ask(tmp_path, "SELECT snapshot, measured, solved FROM paper WHERE method = 'golden' ORDER BY snapshot")
    assert {row["snapshot"]: (row["measured"], row["solved"]) for row in found} == {
        name: (True, SOLVED[name]) for name in order
    }
    assert unjoined(tmp_path) == []
    reference = ask(tmp_path, "SELECT snapshot, measured, f2p_ok FROM golden_reference")
    assert {row["snapshot"]: (row["measured"], row["f2p_ok"]) for row in reference} == {
        name: (True, SOLVED[name]) for name in order
    }
    before = [run for run in Store(str(tmp_path / "store")).read(Run) if run.code_state == "before" and run.suite_id]
    assert len({run.run_key for run in before}) == len(before)
