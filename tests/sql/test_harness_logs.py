"""`harness_case` derives the lines that the public harness reads in real logs, but for its parsers' slips."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from harness_logs import PARSERS, Site, derived, differences, printed
from script_projects import DJANGO, SYMPY
from sql_store import CASES, SqlStore

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.git.trees import Trees
from tasks.adapters.uv.interpreters import find_uv
from tasks.domain.errors import NotFound
from tasks.domain.outcome import RunnerKind

LOG_CASES = tomllib.loads((CASES / "harness_logs.toml").read_text())["case"]
STAND_INS = {RunnerKind.DJANGO: DJANGO, RunnerKind.SYMPY: SYMPY, RunnerKind.PYTEST: {}}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def modules_of(files: dict[str, str]) -> list[str]:
    return [name for name in files if "/test_" in name]


@pytest.mark.slow
@pytest.mark.parametrize("case", LOG_CASES, ids=[case["name"] for case in LOG_CASES])
def test_lines_that_the_harness_reads(store: SqlStore, tmp_path: Path, case: dict[str, Any]) -> None:
    runner = RunnerKind(case["runner"])
    checkout = tmp_path / "checkout"
    base = {name: text for name, text in STAND_INS[runner].items() if "/test_" not in name and name != "test_new.py"}
    write(checkout, base | case["files"])
    site = Site(checkout=checkout, python=sys.executable, runner=runner)
    files = modules_of(case["files"])
    log = printed(site, files, case.get("quiet", True))
    ours = derived(store, site, files, tmp_path)
    slips = {name: tuple(pair) for name, pair in case.get("differences", {}).items()}
    assert differences(PARSERS[runner](log), ours) == slips, log


MIRRORS = Path(os.environ.get("SWT_TEST_MIRRORS", Path(__file__).parents[2] / "data" / "cache" / "mirrors"))
REAL = {
    RunnerKind.DJANGO: ("django/django", "51c9bb7cd16081133af4f0ab6d06572660309730", ("asgiref", "sqlparse")),
    RunnerKind.SYMPY: ("sympy/sympy", "e8c22f6eac7314be8d92590bfff92ced79ee03e2", ("mpmath==1.3.0",)),
}
"""Repository, a commit of it that runs on this interpreter, and what it needs."""


@pytest.mark.real
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("runner", REAL)
def test_lines_in_logs_of_real_checkouts(store: SqlStore, tmp_path: Path, runner: RunnerKind) -> None:
    """The same small tests, put into a checkout of Django and of sympy."""
    repo, commit, needs = REAL[runner]
    try:
        Trees(Mirrors(MIRRORS), tmp_path / "trees").checkout(repo, commit, tmp_path / "checkout")
    except NotFound as error:
        pytest.skip(str(error))
    argv = [
        str(find_uv()),
        "pip",
        "install",
        "-q",
        "--target",
        str(tmp_path / "lib"),
        "--python",
        sys.executable,
        *needs,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no packages: {done.stderr[-300:]}")
    site = Site(checkout=tmp_path / "checkout", python=sys.executable, runner=runner, libraries=str(tmp_path / "lib"))
    for case in LOG_CASES:
        if case["runner"] == runner:
            write(site.checkout, case["files"] | ({"tests/app/__init__.py": ""} if runner is RunnerKind.DJANGO else {}))
            files = modules_of(case["files"])
            log = printed(site, files)
            ours = derived(store, site, files, tmp_path)
            slips = {name: tuple(pair) for name, pair in case.get("differences", {}).items()}
            assert differences(PARSERS[runner](log), ours) == slips, log
