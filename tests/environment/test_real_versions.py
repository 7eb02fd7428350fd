"""Versions told from the checkout against the benchmark's own labels, over every development row that has one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.environment.project_files.versions import VersionRule, derive_version, numbers
from tasks.environment.recipes import load_recipes

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
MIRRORS = ROOT.parent / ".mirror"
PLACES = {
    "django/django": "swe-bench+django__django",
    "pallets/flask": "pallets+flask",
    "psf/requests": "psf+requests",
    "pydata/xarray": "pydata+xarray",
    "pylint-dev/pylint": "pylint-dev+pylint",
    "pytest-dev/pytest": "pytest-dev+pytest",
    "sympy/sympy": "sympy+sympy",
}


def reader(repo: str, commit: str) -> Callable[[str], str | None]:
    mirror = MIRRORS / PLACES[repo] / "repo"

    def read(path: str) -> str | None:
        argv = ["git", "--git-dir", str(mirror), "show", f"{commit}:{path}"]
        done = subprocess.run(argv, capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    return read


@pytest.mark.real
@pytest.mark.parametrize("name", ["lite", "verified"])
def test_versions_are_the_benchmarks_own(name: str) -> None:
    data = SHARED / f"swe-bench-{name}.dev.jsonl"
    if not data.is_file() or not all((MIRRORS / place).is_dir() for place in PLACES.values()):
        pytest.skip("needs ../shared and the mirrors of the repositories")
    books = load_recipes(ROOT / "data" / "environments")
    rows = [row for line in data.read_text().splitlines() if (row := json.loads(line))["repo"] in PLACES]
    wrong = {
        row["instance_id"]: (row["version"], found)
        for row in rows
        if row["version"]
        and (found := derive_version(reader(row["repo"], row["base_commit"]), books[row["repo"]].version_rules))
        != row["version"]
    }
    assert wrong == {}


def test_the_first_rule_that_matches_wins() -> None:
    rules = (VersionRule("a", re.compile(r"v(\d+)\.(\d+)?")), VersionRule("b", re.compile("x"), "9.9"))
    assert derive_version({"a": "v1.2", "b": "x"}.get, rules) == "1.2"
    assert derive_version({"a": "none", "b": "x"}.get, rules) == "9.9"
    assert derive_version({"a": "v3."}.get, rules) == "3"
    assert derive_version({}.get, rules) is None


def test_versions_compare_as_numbers() -> None:
    assert numbers("1.10") > numbers("1.9")
    assert numbers("2022.09") > numbers("2022.6")
