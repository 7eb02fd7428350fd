"""Trajectories and what the audit says of them."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from domain_rows import candidate_row
from test_redaction import instance

from tasks.domain.candidate import Candidate
from tasks.domain.guards import TrajectoryAudit
from tasks.domain.instance import TaskInstance
from tasks.domain.names import RepoName, Sha
from tasks.domain.trajectory import TrajectoryStep
from tasks.methods.trajectory_audit import RULES, audit_trajectory, secrets_of

CASES = tomllib.loads((Path(__file__).parent / "cases" / "trajectories.toml").read_text())["case"]
FIX = """\
--- a/src/larder/jam.py
+++ b/src/larder/jam.py
@@ -1,2 +1,4 @@
 def boil(sugar):
+    if sugar is None and not allowed_to_be_empty:
+        raise EmptyJar("a jar without sugar spoils early")
     return sugar
"""


def larder() -> TaskInstance:
    known = instance("It broke in ccccccc3.", name="owner__larder-500")
    base, later = Sha("aaaaaaa1" * 5), Sha("bbbbbbb2" * 5)
    return replace(known, repo=RepoName("owner/larder"), base_commit=base, environment_setup_commit=later, patch=FIX)


def candidate() -> Candidate:
    return candidate_row(instance_id=larder().instance_id, instance_key=larder().instance_key)


def rows_of(steps: list[list[str]]) -> tuple[TrajectoryAudit, ...]:
    told = (TrajectoryStep(role=role, text=text) for role, text in steps)
    return audit_trajectory(
        candidate(), told, secrets_of(larder(), packages=("the-larder",), commits=("ccccccc3" * 5,))
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    assert sorted([row.step, row.rule] for row in rows_of(case["steps"])) == sorted(case["found"])


def test_every_rule_has_a_case() -> None:
    assert {rule for case in CASES for _, rule in case["found"]} == {name for name, _ in RULES}


def test_a_row_says_what_stood_there() -> None:
    (row,) = rows_of([["command", "git   log --all\n" + "x" * 400]])
    assert (row.candidate_id, row.instance_key, row.step, row.detail) == ("c", "k", 0, "git log --all")


def test_half_a_character_hides_nothing() -> None:
    (row,) = rows_of([["command", "echo \ud800; git log --all"]])
    assert row.rule == "all-history"


def test_an_environment_of_the_base_commit_is_no_secret() -> None:
    same = replace(larder(), environment_setup_commit=larder().base_commit)
    assert secrets_of(same).commits == ()
