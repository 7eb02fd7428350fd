"""The collector on tiny projects, each in the interpreter that runs the tests and without any isolation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from script_projects import DJANGO, SYMPY

from tasks.adapters.patch.render import Change
from tasks.adapters.runner.collect import Collected, Collection, State, collect
from tasks.adapters.sandbox.process import Process
from tasks.adapters.uv.host import host_environment
from tasks.domain.names import RepoName, RepoPath
from tasks.domain.outcome import RunnerKind
from tasks.domain.run import Limits

Look = Callable[..., Collection]
BAD = """
import module_that_nobody_has
def test_a(): pass
"""


@pytest.fixture
def look(tmp_path: Path, project) -> Look:
    def collect_in(
        files: dict[str, str], *states: State, kind: RunnerKind = RunnerKind.PYTEST, args: tuple[str, ...] = ()
    ) -> Collection:
        built = host_environment(RepoName("owner/name"), runner=kind, test_args=args)
        folder = tmp_path / "folder"
        folder.mkdir()
        return collect(
            Process(tmp_path),
            built,
            states,
            env=("PATH=/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"),
            limits=Limits(wall_s=60),
            checkout=project(files),
            folder=folder,
        )

    return collect_in


def state(*files: str, name: str = "after", packages: tuple[str, ...] = (), **changes: str | None) -> State:
    new = tuple(Change(path=path.replace("__", "/") + ".py", before=None, after=text) for path, text in changes.items())
    return State(name=name, files=tuple(map(RepoPath, files)), packages=packages, changes=new)


def only(collection: Collection) -> Collected:
    (found,) = collection.states
    return found


def test_collecting_runs_nothing(look: Look) -> None:
    body = "def test_a():\n    open('ran', 'w')\ndef test_b(): pass\n"
    found = look({"tests/test_a.py": body}, state("tests/test_a.py"))
    assert (only(found).cases, only(found).files, only(found).complaint) == (2, {}, "")
    assert found.finished.exit_code == 0


def test_a_file_that_cannot_be_imported_is_named_with_its_reason(look: Look) -> None:
    files = {"tests/test_a.py": BAD, "tests/test_b.py": "def test_b(): pass\n"}
    found = only(look(files, state(*files)))
    assert list(found.files) == ["tests/test_a.py"]
    assert "No module named 'module_that_nobody_has'" in found.files[RepoPath("tests/test_a.py")]
    assert found.cases == 1
    assert found.complaint == ""


def test_a_conftest_that_cannot_be_imported(look: Look) -> None:
    found = look({"conftest.py": BAD, "test_b.py": "def test_b(): pass\n"}, state("test_b.py"))
    assert only(found).complaint == "pytest ended with exit code 4"
    assert "No module named 'module_that_nobody_has'" in found.log


def test_an_option_that_nobody_knows(look: Look) -> None:
    found = look(
        {"setup.cfg": "[tool:pytest]\naddopts = --cov=pkg\n", "test_b.py": "def test_b(): pass\n"}, state("test_b.py")
    )
    assert only(found).complaint == "pytest ended with exit code 4"
    assert "unrecognized arguments: --cov=pkg" in found.log


def test_fixtures_that_nothing_defines(look: Look) -> None:
    body = """
import pytest
@pytest.mark.parametrize("given", [1])
def test_b(given, request, tmp_path, mocker): pass
"""
    assert only(look({"test_b.py": body}, state("test_b.py"))).fixtures == ("mocker",)


def test_each_state_is_looked_at_by_a_process_of_its_own(look: Look) -> None:
    """Of a file with as many bytes as before the new text counts, whatever bytecode the first look left."""
    files = {"pkg/__init__.py": "", "pkg/m.py": "a = 1\n", "test_a.py": "from pkg.m import a\ndef test_a(): pass\n"}
    new = state("test_a.py", packages=("pkg", "absent"), pkg__m="b = 1\n", test_b="x")
    before, after = look(files, state("test_a.py", name="before"), new).states
    assert (before.name, dict(before.files)) == ("before", {})
    assert "cannot import name 'a'" in after.files[RepoPath("test_a.py")]
    assert list(after.packages) == ["absent"]


def test_a_process_that_ends_says_so(look: Look) -> None:
    found = only(look({"test_a.py": "import os\nos._exit(3)\n"}, state("test_a.py")))
    assert "the process ended while it collected" in found.complaint


def test_unittest(look: Look) -> None:
    files = {
        "t/__init__.py": "",
        "t/test_a.py": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): 1 / 0\n",
        "t/test_bad.py": BAD,
        "t/test_skip.py": "import unittest\nraise unittest.SkipTest('no')\n",
    }
    found = only(look(files, state(*files), kind=RunnerKind.UNITTEST))
    assert (list(found.files), found.complaint) == (["t/test_bad.py"], "")
    assert found.cases == 1


def test_djangos_script_stops_before_it_makes_a_database(look: Look) -> None:
    script = DJANGO["tests/runtests.py"].replace("kind =", "DiscoverRunner().setup_databases()\nkind =")
    runner = DJANGO["django/test/runner.py"] + "\n    def setup_databases(self): raise SystemExit('too far')\n"
    files = {**DJANGO, "tests/runtests.py": script, "django/test/runner.py": runner}
    asked = ("tests/app/test_x.py", "tests/app/test_bad.py")
    found = only(look(files, state(*asked), kind=RunnerKind.DJANGO))
    assert (list(found.files), found.complaint) == (["tests/app/test_bad.py"], "")
    assert found.cases == 2


def test_sympy(look: Look) -> None:
    asked = ("sympy/core/tests/test_x.py", "sympy/core/tests/test_bad.py", "test_new.py")
    found = only(look(SYMPY, state(*asked), kind=RunnerKind.SYMPY, args=("-C",)))
    assert list(found.files) == ["sympy/core/tests/test_bad.py"]
    assert found.cases == 7
