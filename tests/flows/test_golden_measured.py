"""`swt evaluate golden nop` on projects whose golden tests were hard to measure: verdict, reason and exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden_projects import NAME, GoldenProject, SwtMachine, swt_machine

from tasks.adapters.sandbox.bubblewrap import Bubblewrap

pytestmark = [
    pytest.mark.bubblewrap,
    pytest.mark.skipif(Bubblewrap().why_not() != "", reason="needs bubblewrap"),
]

CONFIG = '[project]\nname = "widget"\nversion = "0.1"\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
CORE = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
MAIN = "\n\nif __name__ == '__main__':\n    print(add(1, 2))\n"
FILES = {
    "pyproject.toml": CONFIG,
    "widget/__init__.py": "",
    "widget/core.py": CORE,
    "tests/test_old.py": "from widget.core import add\n\n\ndef test_zero():\n    assert add(1, 0) == 1\n",
}
FIX = {"widget/core.py": FIXED}
IMPORT = "from widget.core import add\n\n\n"
TESTS = {"tests/test_core.py": f"{IMPORT}def test_add():\n    assert add(1, 2) == 3\n"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> SwtMachine:
    return swt_machine(tmp_path, monkeypatch, capsys)


def verdicts(machine: SwtMachine) -> dict[str, tuple[Any, ...]]:
    """Method → measured, solved, reason."""
    rows = machine.query("SELECT method, measured, solved, reason FROM verdict WHERE grader = 'paper'")
    return {row["method"]: (row["measured"], row["solved"], row["reason"]) for row in rows}


def coverage(machine: SwtMachine) -> set[tuple[Any, ...]]:
    asked = "SELECT definition, numerator, denominator FROM change_coverage WHERE method = 'golden'"
    return {tuple(row.values()) for row in machine.query(asked)}


SOLVED = {"golden": (True, True, ""), "nop": (True, False, "empty")}


def failed(reason: str) -> dict[str, tuple[Any, ...]]:
    """Neither control counts."""
    return dict.fromkeys(("golden", "nop"), (False, None, reason))


def assert_solved(machine: SwtMachine, project: GoldenProject) -> None:
    machine.take(project)
    code, said = machine.evaluate("golden", "nop")
    assert code == 0, said
    assert verdicts(machine) == SOLVED
    assert machine.query("FROM undone") == []
    assert machine.query("FROM audit_golden_unmeasured") == []


def assert_ours(machine: SwtMachine, reason: str, detail: str) -> None:
    """The second call is no quieter than the first."""
    for _ in range(2):
        code, said = machine.evaluate("golden", "nop")
        assert code == 1, said
        assert f"golden not solved: {NAME}: {reason}" in said
    assert verdicts(machine) == failed(reason)
    told = machine.query("SELECT DISTINCT subject, round, error, detail FROM undone_now")
    assert [(row["subject"], row["round"], row["error"]) for row in told] == [(NAME, "golden", "golden-unmeasured")]
    assert detail in told[0]["detail"]
    assert machine.query("FROM audit_golden_unmeasured") == []


@pytest.mark.slow
def test_a_fix_that_adds_a_link(machine: SwtMachine) -> None:
    tests = {"tests/test_core.py": TESTS["tests/test_core.py"].replace("widget.core", "widget.alias")}
    links = {"widget/alias.py": "core.py"}
    assert_solved(machine, GoldenProject(files=FILES, fix=FIX, tests=tests, links=links))


@pytest.mark.slow
def test_a_fix_that_adds_a_link_to_the_outside(machine: SwtMachine) -> None:
    machine.take(GoldenProject(files=FILES, fix=FIX, tests=TESTS, links={"widget/passwd": "/etc/passwd"}))
    assert_ours(machine, "golden-unapplied", "widget/passwd is a link to '/etc/passwd', which leads out")


def test_tests_in_another_language(machine: SwtMachine) -> None:
    fix = {"src/a.c": "int add(int a, int b) { return a + b; }\n"}
    project = GoldenProject(
        files=FILES | {"src/a.c": "int add(int a, int b) { return a - b; }\n"},
        fix=fix,
        tests={"test/t.c": "int main() { return 1; }\n"},
    )
    code, said = machine.import_rows(project)
    assert code == 2
    assert f"{NAME}: its tests are written in C (test/t.c), and only Python projects can be run: not taken" in said


@pytest.mark.slow
def test_tests_that_no_runner_collects(machine: SwtMachine) -> None:
    machine.take(GoldenProject(files=FILES, fix=FIX, tests={"test/t.c": "int main() { return 1; }\n"}))
    assert_ours(machine, "golden-empty", "the golden tests hold no file that a runner can collect")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", ["-m 'not slow'", "--deselect tests/test_core.py::test_add", "-k quick", "--ignore=tests/test_core.py"]
)
def test_cases_that_the_project_leaves_out(machine: SwtMachine, options: str) -> None:
    files = FILES | {"pyproject.toml": f'{CONFIG}addopts = "{options}"\nmarkers = ["slow"]\n'}
    slow = f"import pytest\n{IMPORT}@pytest.mark.slow\ndef test_add():\n    assert add(1, 2) == 3\n"
    assert_solved(machine, GoldenProject(files=files, fix=FIX, tests={"tests/test_core.py": slow}))


@pytest.mark.slow
def test_cases_that_a_conftest_leaves_out(machine: SwtMachine) -> None:
    """What code of the project leaves out stays out, and is no verdict."""
    nothing = "def pytest_collection_modifyitems(items):\n    items[:] = []\n"
    machine.take(GoldenProject(files=FILES | {"conftest.py": nothing}, fix=FIX, tests=TESTS))
    assert_ours(machine, "golden-silent", "the golden test files gave no case on the fixed code")


GIT_TESTS = f"""import subprocess

{IMPORT}def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=True).stdout.split("\\n")[:-1]


def test_git():
    assert git("status", "--porcelain") == []
    assert git("rev-list", "--all", "--count") == ["1"]
    assert {{"widget/core.py", "tests/test_core.py"}} <= set(git("ls-files"))
    assert git("describe", "--always") == git("rev-parse", "--short", "HEAD")
    assert add(1, 2) == 3
"""


@pytest.mark.slow
def test_tests_that_ask_git(machine: SwtMachine) -> None:
    assert_solved(machine, GoldenProject(files=FILES, fix=FIX, tests={"tests/test_core.py": GIT_TESTS}))


RUN = "subprocess.run([sys.executable, '-m', 'widget.core'], stdout=subprocess.PIPE, check=True).stdout == b'3\\n'"
CHILDREN = {
    "subprocess": f"import subprocess\nimport sys\n\n\ndef test_add():\n    assert {RUN}\n",
    "fork": """import os


def test_add():
    child = os.fork()
    if not child:
        from widget.core import add
        os._exit(add(1, 2))
    assert os.waitpid(child, 0)[1] >> 8 == 3
""",
    "multiprocessing": f"""import multiprocessing

import pytest

{IMPORT}@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_add(kind):
    with multiprocessing.get_context(kind).Pool(1) as pool:
        assert pool.starmap(add, [(1, 2)]) == [3]
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHILDREN)
def test_a_fix_that_runs_in_child_processes_only(machine: SwtMachine, kind: str) -> None:
    assert_solved(
        machine,
        GoldenProject(
            files=FILES | {"widget/core.py": CORE + MAIN},
            fix={"widget/core.py": FIXED + MAIN},
            tests={"tests/test_core.py": CHILDREN[kind]},
        ),
    )
    assert coverage(machine) == {("paper", 2, 2), ("swt_bench", 2, 2)}
    assert machine.query("FROM coverage_missing") == []


SCRIPT = "import subprocess\nimport sys\n\n\ndef test_add():\n    "
SCRIPT += "assert subprocess.check_output([sys.executable, *ARGS, 'widget/core.py']) == b'3\\n'\n"


@pytest.mark.slow
@pytest.mark.parametrize(("args", "why"), [("[]", "not-measured"), ("['-I']", "no-line-ran")])
def test_a_fix_whose_lines_cannot_be_seen_is_listed(machine: SwtMachine, args: str, why: str) -> None:
    assert_solved(
        machine,
        GoldenProject(
            files=FILES | {"widget/core.py": CORE + MAIN},
            fix={"widget/core.py": FIXED + MAIN},
            tests={"tests/test_core.py": SCRIPT.replace("*ARGS", f"*{args}")},
        ),
    )
    (row,) = machine.query("SELECT instance_id, why, changed_lines FROM coverage_missing")
    assert row == {"instance_id": NAME, "why": why, "changed_lines": 2}
    (row,) = machine.query(
        "SELECT n_all, excluded, unmeasured FROM table3 WHERE method = 'golden' AND definition = 'paper'"
    )
    assert (row["n_all"], row["excluded"] + row["unmeasured"]) == (0, 1)


MANAGE = """import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_.settings")
    from django.core.management import execute_from_command_line
    execute_from_command_line(sys.argv)
"""
SETTINGS = """SECRET_KEY = "x"
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
"""
MODELS = """from django.db import models


class Item(models.Model):
    price = models.IntegerField()


def total():
    return sum(item.price for item in Item.objects.all()) - 1
"""
DJANGO_TESTS = """from django.test import TestCase

from shop.models import Item, total


class TotalTests(TestCase):
    def test_total(self):
        Item.objects.create(price=2)
        Item.objects.create(price=3)
        self.assertEqual(total(), 5)
"""


@pytest.mark.network
@pytest.mark.slow
def test_a_django_project(machine: SwtMachine) -> None:
    """Its environment is inferred and holds the real Django."""
    files = {
        "manage.py": MANAGE,
        "requirements.txt": "Django>=2.2,<3\n",
        "site_/__init__.py": "",
        "site_/settings.py": SETTINGS,
        "shop/__init__.py": "",
        "shop/models.py": MODELS,
    }
    project = GoldenProject(
        files=files,
        fix={"shop/models.py": MODELS.replace(" - 1", "")},
        tests={"shop/tests.py": DJANGO_TESTS},
        repo="acme/shop",
        version=None,
    )
    assert_solved(machine, project)
    assert machine.query("SELECT DISTINCT runner, test_args[1] AS script FROM environment") == [
        {"runner": "django", "script": "manage.py"}
    ]
    assert machine.query("SELECT DISTINCT case_id FROM case_outcome") == [
        {"case_id": "shop.tests.TotalTests.test_total"}
    ]
    assert coverage(machine) == {("paper", 2, 2), ("swt_bench", 2, 2)}
