"""Rows that share base commit and golden tests but not the golden patch share runs: each of them is measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from scratch_git import git
from typer.testing import CliRunner

from flows.interface.cli import app
from tasks.adapters.sandbox.select import available
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.run import Run, RunRequest

pytestmark = pytest.mark.slow

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


@pytest.mark.slow
@pytest.mark.parametrize("order", [*permutations(["first", "revised"]), ("first", "wrapped"), ("wrong", "revised")])
@pytest.mark.parametrize(
    "more", [(), pytest.param(("--no-coverage",), marks=pytest.mark.drill)], ids=["traced", "untraced"]
)
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


def import_and_evaluate(swt: Swt, rows: dict[str, Path], *names: str) -> str:
    """What the evaluation of the last of these snapshots says."""
    said = ""
    for name in names:
        assert swt("import", str(rows[name]), "--snapshot", name)[0] == 0
        code, said = swt("evaluate", "golden", "--snapshot", name, "--trusted", "--no-guards", "--no-confirm")
        assert code == 0, said
    return said


def test_a_store_from_before_there_were_requests_answers_and_needs_no_new_run(
    swt: Swt, rows: dict[str, Path], tmp_path: Path
) -> None:
    import_and_evaluate(swt, rows, "first", "revised")
    shutil.rmtree(tmp_path / "store" / "run_request")
    shutil.rmtree(tmp_path / "store" / "judged")
    (tmp_path / "swt.duckdb").unlink()
    code, said = swt("query", "SELECT snapshot, measured FROM paper ORDER BY snapshot", "--format", "csv")
    assert (code, said.split()[-3:]) == (0, ["snapshot,measured", "first,True", "revised,False"])
    code, said = swt("evaluate", "golden", "--snapshot", "revised", "--trusted", "--no-guards", "--no-confirm")
    assert code == 0
    assert "0 runs, " in said
    assert ask(tmp_path, "SELECT measured, solved FROM paper WHERE snapshot = 'revised'") == [
        {"measured": True, "solved": True}
    ]


def test_nothing_is_requested_twice(swt: Swt, rows: dict[str, Path], tmp_path: Path) -> None:
    import_and_evaluate(swt, rows, "first")
    store = Store(str(tmp_path / "store"))
    before = store.disk.paths("run_request")
    assert len(store.read(RunRequest)) == len({row.request_id for row in store.read(RunRequest)}) == 2
    import_and_evaluate(swt, rows, "first")
    store.compact(grace_s=0)
    compacted = store.disk.paths("run_request")
    import_and_evaluate(swt, rows, "first")
    assert store.disk.paths("run_request") == compacted
    assert len(before) == 2  # with the file that holds the columns alone


def test_validation_counts_the_runs_that_another_row_made(swt: Swt, rows: dict[str, Path], tmp_path: Path) -> None:
    for name in ("first", "revised"):
        assert swt("import", str(rows[name]), "--snapshot", name)[0] == 0
        code, said = swt("validate", "--snapshot", name, "--trusted")
        assert code == 0, said
    found = ask(tmp_path, "SELECT snapshot, valid, runs FROM validation ORDER BY snapshot")
    assert [(row["snapshot"], row["valid"]) for row in found] == [("first", True), ("revised", True)]
    assert found[0]["runs"] == found[1]["runs"]
    assert unjoined(tmp_path) == []


def test_a_fix_that_was_proposed_for_both_rows_is_judged_for_both(
    swt: Swt, rows: dict[str, Path], tmp_path: Path
) -> None:
    row = json.loads(rows["first"].read_text())
    fixes = tmp_path / "fixes.jsonl"
    fix = {"instance_id": row["instance_id"], "model_name_or_path": "m", "model_patch": row["patch"]}
    fixes.write_text(json.dumps(fix) + "\n")
    for name in ("revised", "first"):
        import_and_evaluate(swt, rows, name)
        code, said = swt("fixes", str(fixes), "--snapshot", name, "--trusted")
        assert code == 0, said
    assert ask(tmp_path, "SELECT snapshot, n, resolved FROM repair_rate ORDER BY snapshot") == [
        {"snapshot": name, "n": 1, "resolved": 1} for name in ("first", "revised")
    ]
    assert unjoined(tmp_path) == []
