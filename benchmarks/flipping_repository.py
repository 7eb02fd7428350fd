"""A repository of one issue, with hundreds of test cases that flip at known rates beside as many that never do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from flows.interface.settings import Settings
from flows.snapshots import import_rows
from tasks.adapters.git.mirrors import Mirrors
from tasks.domain.instance import TaskInstance
from tasks.evaluate.task import choose_instances

REPO = "rolling-swt-bench/larder"
"""The demo's name: its recipe takes the interpreter that runs this."""

STABLE = 0.0
RATES = (0.05, 0.2, 0.5)
EACH = 200

TESTS = f"""\
import random

import pytest

from larder import value

CHANCE = random.SystemRandom()


@pytest.mark.parametrize("rate", {(STABLE, *RATES)})
@pytest.mark.parametrize("number", range({EACH}))
def test_flip(number, rate):
    assert CHANCE.random() >= rate
"""
FIXED_TESTS = TESTS + "\n\ndef test_value():\n    assert value() == 2\n"
_RATE = re.compile(r"test_flip\[\d+-([\d.]+)\]")


def rate_of(label: str) -> float | None:
    """The flip rate of a case by its name; null for the issue's own test."""
    found = _RATE.search(label)
    return float(found[1]) if found else None


def settings_with_instance(work: Path, snapshot: str) -> tuple[Settings, TaskInstance]:
    """A warehouse below `work` that holds the instance, and its mirror."""
    work.mkdir(parents=True, exist_ok=True)
    settings = Settings(store=str(work / "store"), cache=(work / "cache").resolve(), database=work / "swt.duckdb")
    if not (work / "instance.jsonl").exists():
        row = _history(work / "source")
        Mirrors(settings.places.mirrors).add(REPO, work / "source")
        (work / "instance.jsonl").write_text(json.dumps(row) + "\n")
    import_rows(settings, work / "instance.jsonl", snapshot)
    (instance,) = choose_instances(settings.places, snapshot, ())
    return settings, instance


def _history(source: Path) -> dict[str, str]:
    """One commit, and what fixes it, as a row of SWE-bench's form."""
    (source / "tests").mkdir(parents=True)
    code, tests = source / "larder.py", source / "tests" / "test_coins.py"
    (source / "conftest.py").write_text("")
    code.write_text("def value():\n    return 1\n")
    tests.write_text(TESTS)
    _git(source, "init", "--quiet", "--initial-branch=main")
    _git(source, "add", "--all")
    _git(source, "commit", "--quiet", "-m", "One is returned")
    code.write_text("def value():\n    return 2\n")
    tests.write_text(FIXED_TESTS)
    return {
        "instance_id": "rolling-swt-bench__larder-1",
        "repo": REPO,
        "version": "0.1",
        "base_commit": _git(source, "rev-parse", "HEAD").strip(),
        "patch": _git(source, "diff", "--", "larder.py"),
        "test_patch": _git(source, "diff", "--", "tests"),
        "problem_statement": "value() should be two.",
        "hints_text": "",
        "created_at": "2025-01-01T00:00:00Z",
    }


def _git(folder: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    env |= {f"GIT_{who}_{what}": "bench@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout
