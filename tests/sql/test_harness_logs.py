"""The lines that `harness_case` derives are those that the public harness reads in real logs, but for its parsers' slips."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from harness_logs import PARSERS, Site, derived, differences, printed
from script_projects import DJANGO, SYMPY
from sql_store import CASES, SqlStore

from tasks.domain.outcome import RunnerKind

LOG_CASES = tomllib.loads((CASES / "harness_logs.toml").read_text())["case"]
STAND_INS = {RunnerKind.DJANGO: DJANGO, RunnerKind.SYMPY: SYMPY, RunnerKind.PYTEST: {}}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def modules_of(files: dict[str, str]) -> list[str]:
    return [name for name in files if "/test_" in name]


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
