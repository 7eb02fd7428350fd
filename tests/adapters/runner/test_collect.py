"""The collector on tiny projects, each in the interpreter that runs the tests and without any isolation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from script_projects import DJANGO, SYMPY

from tasks.adapters.patch.render import Change
from tasks.adapters.runner.collect import Collected, Collection, State, collect
from tasks.adapters.sandbox.process import Process
from tasks.adapters.uv.host_environment import host_environment
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


@pytest.mark.parametrize("addopts", ["--strict-config", "--strict-config -p no:cacheprovider", "--ff"])
def test_a_cache_that_the_configuration_names_is_no_mistake(look: Look, addopts: str) -> None:
    files = {"tests/test_a.py": "def test_a(): pass\n"}
    files["pytest.ini"] = f"[pytest]\naddopts = {addopts}\ncache_dir = .cached\n"
    found = only(look(files, state("tests/test_a.py")))
    assert (found.cases, found.complaint) == (1, "")


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


DRIVEN = {
    "tests/test_all.py": """
import pathlib, pytest
HERE = pathlib.Path(__file__).parent / "inputs"
@pytest.mark.parametrize("path", sorted(HERE.glob("*.in")), ids=lambda path: path.stem)
def test_input(path):
    assert path.read_text().upper() == path.with_suffix(".out").read_text()
def test_nothing_of_the_kind(): pass
""",
    "tests/inputs/a.in": "a",
    "tests/inputs/a.out": "A",
    "tests/inputs/b.in": "b",
    "tests/inputs/b.out": "B",
}


def test_the_cases_that_read_a_changed_file_are_found_by_what_they_open(look: Look) -> None:
    """`a.out` has no case of its name in any list: the case of `a.in` opens it. No other case runs because of it."""
    data = tuple(map(RepoPath, ("tests/inputs/a.out", "tests/inputs/c.in")))
    new = (
        Change(path="tests/inputs/a.out", before="A", after="?"),
        Change(path="tests/inputs/c.in", before=None, after="c"),
    )
    files = (RepoPath("tests/test_all.py"),)
    found = look(
        DRIVEN,
        State(name="before", files=files),
        State(name="after", files=files, changes=new, watch=data),
    )
    before, after = found.states
    assert before.ids == {
        "tests/test_all.py::test_input[a]",
        "tests/test_all.py::test_input[b]",
        "tests/test_all.py::test_nothing_of_the_kind",
    }
    assert [(one.case_id, one.opened, one.found_by) for one in after.readers] == [
        ("tests/test_all.py::test_input[a]", (data[0],), "opened"),
        ("tests/test_all.py::test_input[c]", (data[1],), "opened"),
    ]


def test_a_file_for_another_python_makes_no_other_case_run(look: Look) -> None:
    data = tuple(map(RepoPath, ("tests/inputs/plain.311.out", "tests/inputs/plain.out")))
    body = DRIVEN["tests/test_all.py"] + "    import os; os._exit(1)\n"  # the case of no file: whoever runs it, ends
    files = (
        DRIVEN
        | {data[0]: "", data[1]: "P", "tests/inputs/plain.in": "p"}
        | {"tests/test_all.py": body.replace("kind(): pass", "kind():")}
    )
    asked = State(name="after", files=(RepoPath("tests/test_all.py"),), watch=data)
    (row,) = only(look(files, asked)).readers
    assert (row.case_id, set(row.opened)) == ("tests/test_all.py::test_input[plain]", set(data))


def test_what_is_read_in_another_process_is_found_by_its_name(look: Look) -> None:
    files = {
        "tests/test_tool.py": """
import subprocess, sys
def test_of_the_file(): subprocess.run([sys.executable, "tests/inputs/script.py"], check=True)
def test_another(): pass
""",
        "tests/inputs/script.py": "",
    }
    data = (RepoPath("tests/inputs/script.py"),)
    (row,) = only(look(files, State(name="after", files=(RepoPath("tests/test_tool.py"),), watch=data))).readers
    assert (row.case_id, row.found_by) == ("tests/test_tool.py::test_of_the_file", "named")


def test_a_file_that_is_read_while_a_module_is_collected_concerns_all_its_cases(look: Look) -> None:
    files = {
        "tests/test_a.py": "from tests.inputs.table import T\ndef test_a(): pass\ndef test_b(): pass\n",
        "tests/test_b.py": "def test_c(): pass\n",
        "tests/__init__.py": "",
        "tests/inputs/table.py": "T = 1\n",
    }
    asked = State(name="after", files=tuple(map(RepoPath, list(files)[:2])), watch=(RepoPath("tests/inputs/table.py"),))
    found = [(row.case_id, row.found_by) for row in only(look(files, asked)).readers]
    assert found == [("tests/test_a.py::test_a", "module"), ("tests/test_a.py::test_b", "module")]


def test_a_document_is_a_test_where_the_suite_takes_it_for_one(look: Look) -> None:
    files = {"tests/test_notes.txt": ">>> 1 + 1\n2\n", "tests/other.yml": "a: 1\n"}
    asked = State(name="after", files=(), alone=tuple(map(RepoPath, files)))
    (row,) = only(look(files, asked)).readers
    assert (row.case_id, row.found_by) == ("tests/test_notes.txt::test_notes.txt", "collected")


def test_a_unittest_case_that_opens_a_file(look: Look) -> None:
    body = """
import unittest
class Inputs(unittest.TestCase):
    def test_all(self):
        import os
        for name in os.listdir("tests/inputs"): open(os.path.join("tests/inputs", name)).close()
    def test_none(self): pass
"""
    files = {"tests/__init__.py": "", "tests/test_u.py": body, "tests/inputs/a.in": ""}
    asked = State(name="after", files=(RepoPath("tests/test_u.py"),), watch=(RepoPath("tests/inputs/a.in"),))
    (row,) = only(look(files, asked, kind=RunnerKind.UNITTEST)).readers
    assert (row.case_id, row.found_by) == ("tests/test_u.py::Inputs.test_all", "opened")


SKIPPING = """
import sys
import unittest
import pytest

try:
    import module_that_nobody_has
except ImportError:
    module_that_nobody_has = None

class Odd(object):
    def __bool__(self):
        raise ValueError("both")

@pytest.mark.skipif(module_that_nobody_has is None, reason="the library is not there")
def test_a(): pass

@pytest.mark.skipif(sys is None, reason="never")
@pytest.mark.skipif("sys is None", reason="a text")
@pytest.mark.skipif(Odd(), reason="odd")
def test_b(): pass

def test_c():
    other = pytest.importorskip("another.module")
    pytest.importorskip('json')

@unittest.skipUnless(module_that_nobody_has, "asks for more")
class TestD(unittest.TestCase):
    def test_d(self): pass

class TestE(unittest.TestCase):
    @unittest.skip("not today")
    def test_e(self): pass
"""
WHOLE = "import pytest\nnumpy = pytest.importorskip('module_that_nobody_has')\ndef test_a(): pass\n"


def test_what_tests_skip_themselves_for_is_told(look: Look) -> None:
    found = only(look({"test_a.py": SKIPPING, "test_b.py": WHOLE}, state("test_a.py", "test_b.py")))
    assert (found.cases, found.complaint, found.files) == (5, "", {})
    assert set(found.skips) == {
        "the library is not there",
        "asks for more",
        "not today",
        "could not import 'another.module'",
        "could not import 'module_that_nobody_has'",
        "could not import 'module_that_nobody_has': No module named 'module_that_nobody_has'",
    }


def test_the_same_of_unittest(look: Look) -> None:
    text = SKIPPING[SKIPPING.index("@unittest.skipUnless") :].replace("module_that_nobody_has", "None")
    files = {"test_a.py": f"import unittest\n{text}", "test_b.py": "import unittest\nraise unittest.SkipTest('all')\n"}
    found = only(look(files, state("test_a.py", "test_b.py"), kind=RunnerKind.UNITTEST))
    assert set(found.skips) == {"asks for more", "not today", "all"}
