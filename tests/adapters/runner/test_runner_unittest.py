"""unittest, on the oldest and the newest interpreters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from runner_projects import UNITTEST, UNITTEST_OUTCOMES

from tasks.adapters.runner.job import RunnerJob
from tasks.domain.names import LineNo, RepoPath
from tasks.domain.outcome import CaseOrder, RunnerKind, Tracer
from tasks.domain.run import Watch

VERSIONS = ["3.6", "3.9", "3.12", "3.13"]
FILES = tuple(RepoPath(name) for name in UNITTEST if name.startswith("tests/"))
WATCH = Watch(path=RepoPath("pkg/mod.py"), lines=tuple(LineNo(line) for line in range(1, 12)))


def job(*files: str, tracer: Tracer = Tracer.PROBE) -> RunnerJob:
    return RunnerJob(
        kind=RunnerKind.UNITTEST, files=tuple(RepoPath(name) for name in files) or FILES, watch=(WATCH,), tracer=tracer
    )


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_every_outcome_and_phase(python: str, project, run) -> None:
    ran = run(python, project(UNITTEST), job())
    assert ran.outcomes == UNITTEST_OUTCOMES
    assert ran.report.completed
    assert ran.report.complaint == ""
    assert ran.exit_code == ran.report.exit_code == 1


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_names_and_labels_are_the_same_on_every_version(python: str, project, run) -> None:
    ran = run(python, project(UNITTEST), job())
    case = next(case for case in ran.report.cases if case.case_id.endswith("test_passed"))
    assert case.label == "test_passed (tests.test_all.Plain)\nFirst line."
    assert (case.path, case.qualname) == ("tests/test_all.py", "Plain.test_passed")
    failed = next(case for case in ran.report.cases if case.case_id.endswith("test_failed"))
    assert "0 != 5" in failed.message
    error = next(case for case in ran.report.cases if case.case_id.endswith("Plain.test_error"))
    error.message.encode("utf-8")
    assert "KeyError" in error.message


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_lines_belong_to_cases(python: str, project, run) -> None:
    ran = run(python, project(UNITTEST), job())
    case = "tests.test_all.Plain."
    assert {line for _, name, line in ran.lines if name == case + "test_passed"} == {5, 6}
    assert {5, 7} <= {line for _, name, line in ran.lines if name == case + "test_failed"}
    assert {line for _, name, line in ran.lines if name is None} == {4}
    assert ran.report.watched[0].loaded
    assert ran.report.unprobed == ()


LOOPS = """
def total(xs):
    found = 0
    for x in xs:
        found += x
    while xs and found:
        found -= 1
    return sum(x for x in xs), [x for x in xs]
"""
LOOP_CASES = """
import unittest
from pkg.mod import total

class Cases(unittest.TestCase):
    def test_two(self):
        total([1, 1])

    def test_four(self):
        total([1, 1, 1, 1])
"""


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_executions_are_counted(python: str, project, run) -> None:
    """Each turn of a loop counts for its head, and each item of a comprehension for its line."""
    ran = run(python, project({"pkg/mod.py": LOOPS, "tests/test_loops.py": LOOP_CASES}), job("tests/test_loops.py"))
    counts = {
        hit.case_id.rpartition("_")[2]: dict(zip(hit.lines, hit.counts, strict=True))
        for hit in ran.report.hits
        if hit.case_id
    }
    assert counts["two"] == {3: 1, 4: 3, 5: 2, 6: 3, 7: 2, 8: 5}
    assert counts["four"] == {3: 1, 4: 5, 5: 4, 6: 5, 7: 4, 8: 9}


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_a_docstring_is_no_code(python: str, project, run) -> None:
    module = '"""Doc\nof two lines."""\nclass A:\n    """Doc\n    of A."""\n    x = 1\nclass B: "doc"\n'
    ran = run(python, project({"pkg/mod.py": module, "tests/test_x.py": "import pkg.mod\n"}), job("tests/test_x.py"))
    assert ran.report.watched[0].executable == (3, 6, 7)
    assert ran.lines == {("pkg/mod.py", None, line) for line in (3, 6, 7)}


@pytest.mark.parametrize("python", ["3.6", "3.13"], indirect=True)
def test_tracing_changes_no_outcome(python: str, project, run) -> None:
    ran = run(python, project(UNITTEST), job(tracer=Tracer.NONE))
    assert ran.outcomes == UNITTEST_OUTCOMES
    assert ran.report.hits == ()


@pytest.mark.parametrize("python", VERSIONS, indirect=True)
def test_a_project_that_makes_errors_of_warnings_is_traced_all_the_same(python: str, project, run) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/mod.py": '"""A module."""\n\ndef double(x):\n    """Twice."""\n    print("")\n    return 2 * x\n',
        "tests/__init__.py": "import warnings\nwarnings.simplefilter('error')\n",
        "tests/test_a.py": "import unittest\nfrom pkg.mod import double\n"
        "class A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(double(2), 4)\n",
    }
    ran = run(python, project(files), job("tests/test_a.py"))
    assert ran.report.watched[0].executable == (3, 5, 6)
    assert {line for _, case, line in ran.lines if case} == {5, 6}


@pytest.mark.parametrize("python", ["3.11"], indirect=True)
def test_a_watched_file_that_is_not_imported(python: str, project, run) -> None:
    checkout = project({"pkg/mod.py": "x = (\n    1)\n", "tests/test_x.py": "import unittest\n"})
    ran = run(python, checkout, job("tests/test_x.py"))
    facts = ran.report.watched[0]
    assert (facts.loaded, facts.executable) == (False, ())
    assert ran.report.completed


HOSTILE = {
    "os._exit": ("import os; os._exit(3)", False),
    "sys.exit": ("import sys; sys.exit(3)", True),
    "closed descriptors": ("import os; os.closerange(3, 2000)", True),
    "another folder": ("import os, tempfile; os.chdir(tempfile.gettempdir())", True),
    "patched modules": ("import json, os, time; json.dumps = os.write = os.fstat = time.time = None", True),
    "no streams": ("import sys; sys.stdout = sys.stderr = None", True),
    "a thread that never ends": (
        "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
        True,
    ),
    "much output": ("import sys\n        for i in range(20000): print('PASSED tests/x.py::ghost', i)", True),
    "recursion": ("f = lambda: f()\n        try: f()\n        except RuntimeError: pass", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("python", ["3.6", "3.12"], indirect=True)
def test_hostile_cases(python: str, name: str, project: Callable[[dict[str, str]], Path], run) -> None:
    body, survives = HOSTILE[name]
    text = f"import unittest\n\n\nclass A(unittest.TestCase):\n    def test_1(self):\n        {body}\n"
    text += "\n    def test_2(self):\n        pass\n"
    ran = run(python, project({"tests/test_h.py": text, "pkg/mod.py": ""}), job("tests/test_h.py"))
    assert ran.report.completed is survives
    if survives:
        assert list(ran.outcomes) == ["tests.test_h.A.test_1", "tests.test_h.A.test_2"]
        assert ran.outcomes["tests.test_h.A.test_2"] == "passed/call"
    else:
        assert ran.settled == {"tests.test_h.A.test_1": "error/call", "tests.test_h.A.test_2": "error/setup"}
    assert ran.report.garbage == 0


@pytest.mark.parametrize("python", ["3.6", "3.12"], indirect=True)
def test_a_forked_child_that_goes_on_with_the_suite_writes_nothing(python: str, project, run) -> None:
    text = "import os, unittest\n\n\nclass A(unittest.TestCase):\n"
    text += (
        "    def test_1(self):\n        if os.fork():\n            os.wait()\n\n    def test_2(self):\n        pass\n"
    )
    ran = run(python, project({"tests/test_h.py": text, "pkg/mod.py": ""}), job("tests/test_h.py"))
    assert len(ran.report.cases) == 2
    assert ran.report.duplicates == ()
    assert ran.report.completed


PLACES = """
import unittest
from functools import wraps


class Rows(unittest.TestCase):
    def test_plain(self):
        pass


def named(number, row):
    def test_add(self):
        pass

    test_add.__qualname__ = "Rows.test_add"

    @wraps(test_add)
    def made(self):
        return test_add(self)

    made.__name__ = "test_add_%d_%s" % (number, row)
    return made


for number, row in enumerate(["b", "a", "c"]):
    setattr(Rows, "test_add_%d_%s" % (number, row), named(number, row))
"""


@pytest.mark.parametrize("order", ["given", "reversed", "shuffled"])
def test_cases_have_a_place_among_those_of_their_function(project, run, order: str) -> None:
    """As libraries for parameters make methods of rows: the function's name, a number and the row."""
    job = RunnerJob(
        kind=RunnerKind.UNITTEST,
        files=(RepoPath("tests/test_rows.py"),),
        pythonpath=True,
        order=CaseOrder(order),
        order_seed=3 if order == "shuffled" else None,
    )
    ran = run(sys.executable, project({"tests/test_rows.py": PLACES}), job)
    assert {case.case_id.rpartition(".")[2]: (case.qualname, case.place) for case in ran.report.cases} == {
        "test_add_0_b": ("Rows.test_add", 0),
        "test_add_1_a": ("Rows.test_add", 1),
        "test_add_2_c": ("Rows.test_add", 2),
        "test_plain": ("Rows.test_plain", 0),
    }, ran.output
