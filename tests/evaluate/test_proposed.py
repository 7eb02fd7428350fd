"""What of a proposed fix is run."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime

import pytest
from domain_rows import candidate_row, task_instance

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.domain.names import InstanceId
from tasks.domain.proposed_fix import ProposedFix
from tasks.evaluate.intake.controls import partial_fixes
from tasks.evaluate.repairs.repairs_file import RepairRow
from tasks.evaluate.repairs.sanitize import HandedIn, propose

BASE = {
    "src/x.py": b"a\n",
    "tests/test_old.py": b"a\n",
    "setup.cfg": b"a\n",
    "conftest.py": b"a\n",
    "src/_pytest/__init__.py": b"",
}


def edit(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"


def handed_in(patch: str) -> HandedIn:
    return propose(RepairRow(row=candidate_row(patch=patch)), BASE.get)


def test_a_fix_is_its_change_of_the_code() -> None:
    alone = handed_in(edit("src/x.py"))
    assert (alone.fix.problem, alone.repair.stripped, alone.repair.touches_tests) == ("", (), False)
    with_more = handed_in(edit("tests/test_old.py") + edit("src/x.py"))
    assert with_more.fix == alone.fix
    assert "tests/" not in with_more.fix.patch
    assert "tests/" in with_more.repair.patch
    assert with_more.repair.touches_tests
    assert with_more.repair.repair_id != alone.repair.repair_id


def test_what_would_choose_or_sway_the_judges_is_not_run_and_told() -> None:
    found = handed_in(edit("conftest.py") + edit("setup.cfg") + edit("tests/test_old.py") + edit("src/x.py"))
    assert found.repair.stripped == (
        "conftest.py: touches-tests",
        "setup.cfg: runner-configuration",
        "tests/test_old.py: touches-tests",
    )
    assert found.fix.problem == ""
    assert not handed_in(edit("setup.cfg") + edit("src/x.py")).repair.touches_tests


SETUP = "requires = [\n    'sphinxcontrib-applehelp',\n    'Jinja2>=2.3',\n    'packaging',\n]\n"
PINNED = {
    "sphinxcontrib-applehelp'": "sphinxcontrib-applehelp<=1.0.7'",
    "Jinja2>=2.3": "Jinja2<3.0",
    "'packaging',": "'packaging', 'markupsafe<=2.0.1',",
}
TOX = "commands=\n    pytest --durations 25 {posargs}\n"


def diff_of(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def of_sphinx(patch: str, instance: str = "sphinx-doc__sphinx-8506") -> HandedIn:
    base = BASE | {"setup.py": SETUP.encode(), "tox.ini": TOX.encode()}
    return propose(RepairRow(row=candidate_row(patch=patch, instance_id=InstanceId(instance))), base.get)


def test_edits_of_the_public_environment_are_told_from_those_of_the_method() -> None:
    pinned = SETUP
    for old, new in PINNED.items():
        pinned = pinned.replace(old, new)
    public = diff_of("setup.py", SETUP, pinned) + diff_of("tox.ini", TOX, TOX.replace("pytest", "pytest -rA"))
    found = of_sphinx(public + edit("src/x.py"))
    assert found.repair.stripped == ("setup.py: public-environment", "tox.ini: public-environment")
    assert (found.fix.problem, found.fix.patch) == ("", of_sphinx(edit("src/x.py")).fix.patch)
    own = diff_of("setup.py", SETUP, SETUP.replace("Jinja2>=2.3", "Jinja2>=3.0")) + edit("src/x.py")
    assert of_sphinx(own).repair.stripped == ("setup.py: packaging",)
    assert of_sphinx(public + edit("src/x.py"), "a__b-1").repair.stripped == (
        "setup.py: packaging",
        "tox.ini: runner-configuration",
    )


@pytest.mark.parametrize(
    ("path", "rules"),
    [("src/_pytest/new.py", ()), ("src/_pytest/calendar.py", ()), ("calendar.py", ("calendar.py: takes-a-place",))],
)
def test_a_new_module_of_the_projects_own_package_takes_nobodys_place(path: str, rules: tuple[str, ...]) -> None:
    added = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"
    assert handed_in(edit("src/x.py") + added).repair.stripped == rules


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ("", "empty: "),
        ("I could not do it.", "no-diff: "),
        (edit("../x.py"), "climbing-path: "),
        (edit("tests/test_old.py"), "nothing-left: "),
        ("--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-c\n+d\n", "does-not-apply: "),
    ],
)
def test_one_that_cannot_be_run_says_why(patch: str, problem: str) -> None:
    found = handed_in(patch)
    assert found.fix.problem.startswith(problem)
    assert (found.fix.patch, found.repair.patch) == ("", patch)


def partial_of(patch: str, base: dict[str, bytes]) -> list[ProposedFix]:
    made = partial_fixes(task_instance(patch=patch), base.get, created_at=datetime(2026, 11, 1, tzinfo=UTC))
    return [propose(RepairRow(row=row), base.get).fix for row in made]


def test_partial_fixes_leave_out_one_change_each() -> None:
    base = {"src/x.py": b"a\nb\nc\nd\n"}
    whole = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n-c\n d\n+e\n"
    fixes = partial_of(whole + "--- /dev/null\n+++ b/src/y.py\n@@ -0,0 +1 @@\n+y\n", base)
    made = {text(fix.patch, base, "src/x.py") + "|" + text(fix.patch, base, "src/y.py") for fix in fixes}
    assert made == {"a b d e|y", "A b c d e|y", "A b d|y", "A b d e|"}
    assert len({fix.fix_id for fix in fixes}) == 4


def test_a_single_change_has_no_part() -> None:
    assert partial_of(edit("src/x.py"), BASE) == []
    assert partial_of("no patch", BASE) == []


def text(patch: str, base: dict[str, bytes], path: str) -> str:
    """The words of a file after a patch."""
    read = read_patch(patch)
    assert isinstance(read, Patch)
    applied = apply_to_files(read, base.get)
    assert isinstance(applied, Applied)
    after = {change.path: change.after or "" for change in applied.changes}
    return " ".join(after.get(path, base.get(path, b"").decode()).split())
