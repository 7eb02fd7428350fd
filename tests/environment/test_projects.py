"""cases/projects.toml: files of a checkout in, facts and proposals out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tasks.environment.inference import infer, source_roots

CASES = tomllib.loads((Path(__file__).parent / "cases" / "projects.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_a_project_says_of_itself(case: dict[str, Any]) -> None:
    read = case["files"].get
    project, proposals = infer(read)
    for name, expected in case.get("project", {}).items():
        found = getattr(project, name)
        assert (list(found) if isinstance(found, tuple) else found) == expected
    assert list(source_roots(project, read)) == case["roots"]
    assert {one.rung: list(one.requirements.lines) for one in proposals} == case["proposals"]
