"""Tests that end otherwise alone, in real runs of a small repository, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from script_projects import DJANGO, SYMPY

from tasks.adapters.uv.host_environment import host_environment
from tasks.adapters.workbench.local import LocalWorkbench
from tasks.domain.names import RepoName
from tasks.domain.outcome import RunnerKind
from tasks.repair.isolated_case import IsolatedResult, IsolationSearch
from tasks.repair.suite import SuiteRun
from tests.fakes.toy_tasks import LIMITS, PLAIN_PYTEST, TOY_TASKS

POLLUTED = """
import stock

def test_one(): pass
def test_fill(): stock.ITEMS.append('salt')
def test_two(): pass
def test_is_empty(): assert stock.ITEMS == []
def test_first(): assert stock.ITEMS[0] == 'pepper'
def test_wrong(): assert stock.price == 3
"""
OTHER = "import stock\nstock.LOADED = True\n\ndef test_other(): pass\n"
IMPORTED = "import stock\n\ndef test_unloaded(): assert not stock.LOADED\n"
CLASS = """
import unittest, stock

class StockTests(unittest.TestCase):
    def test_a(self): stock.ITEMS.append('salt')
    def test_b(self): stock.ITEMS.append('oil')
    def test_c(self): self.assertLess(len(stock.ITEMS), 2)
"""
FILES = {
    "stock.py": "ITEMS = []\nLOADED = False\nprice = 2\n",
    "tests/test_class.py": CLASS,
    "tests/test_imported.py": IMPORTED,
    "tests/test_other.py": OTHER,
    "tests/test_stock.py": POLLUTED,
}


ENV = (*PLAIN_PYTEST, "SYMPY_USE_CACHE=no")


def lone(
    folder: Path,
    name: str,
    *files: str,
    project: Mapping[str, str] = FILES,
    runner: RunnerKind = RunnerKind.PYTEST,
    wall_s: float = LIMITS.wall_s,
) -> IsolatedResult:
    """One case of some files of a repository, after a run of all of them."""
    toy = replace(TOY_TASKS[0], name="stock", files=project)
    supplies = replace(
        toy.bench(folder).supplies,
        environment=lambda: host_environment(RepoName("toys/stock"), runner=runner, env=ENV),
        limits=replace(LIMITS, wall_s=wall_s),
    )
    with LocalWorkbench(supplies) as bench:
        paths = [file if "/" in file else f"tests/{file}.py" for file in files]
        cases = SuiteRun.of(bench.run_tests(paths)).cases
        (place,) = (number for number, case in enumerate(cases) if name in (case.qualname, case.case_id))
        assert not cases[place].passed
        return IsolationSearch(bench=bench, files=paths, case=cases[place], earlier=cases[:place]).find_out()


FILL = "tests/test_stock.py::test_fill"


@pytest.mark.parametrize(
    ("name", "files", "reason", "ended", "earlier"),
    [
        ("test_wrong", ("test_stock",), "", "AssertionError", ()),
        ("test_is_empty", ("test_stock",), "earlier-case", "passed", (FILL,)),
        ("test_first", ("test_stock",), "earlier-case", "IndexError", (FILL,)),
        ("test_unloaded", ("test_imported", "test_other"), "other-files", "passed", ()),
        (
            "StockTests.test_c",
            ("test_class",),
            "earlier-cases",
            "passed",
            ("tests/test_class.py::StockTests::test_a", "tests/test_class.py::StockTests::test_b"),
        ),
    ],
)
def test_the_reason(
    tmp_path: Path, name: str, files: tuple[str, ...], reason: str, ended: str, earlier: tuple[str, ...]
) -> None:
    found = lone(tmp_path, name, *files)
    assert (found.reason, found.ended, found.earlier) == (reason, ended, earlier)
    assert bool(found.said) is bool(reason)
    assert IsolatedResult.of_facts(found.facts) == found
    assert found.runs == 1 if not reason else found.runs <= 12


SLOW = """
import stock, time

def test_fill(): stock.ITEMS.append('salt')
def test_waits():
    if not stock.ITEMS: time.sleep(60)
    assert stock.price == 3
"""
NAMED = """
import pytest, stock

@pytest.mark.parametrize('price', [2] if stock.LOADED else [3])
def test_price(price): assert price == 3
"""
CROWDED = """
def test_before(): pass
def test_few(request): assert request.session.testscollected < 4
def test_after(): pass
def test_last(): pass
"""
FLIPPING = """
from pathlib import Path

def test_flips():
    seen = Path({!r})
    seen.write_text(seen.read_text() + 'x' if seen.exists() else 'x')
    assert len(seen.read_text()) == 2
"""


@pytest.mark.parametrize(
    ("name", "files", "text", "reason", "ended"),
    [
        ("test_waits", ("test_own",), SLOW, "time-limit", "timeout"),
        ("tests/test_own.py::test_price[2]", ("test_other", "test_own"), NAMED, "not-found", ""),
        ("test_few", ("test_own",), CROWDED, "unexplained", "passed"),
        ("test_flips", ("test_own",), FLIPPING, "flips", "passed"),
    ],
)
def test_reasons_that_are_no_test_before_it(
    tmp_path: Path, name: str, files: tuple[str, ...], text: str, reason: str, ended: str
) -> None:
    """Too slow alone, not there alone, crowded by what comes after it, and different each time."""
    own = text.format(str(tmp_path / "seen")) if text is FLIPPING else text
    project = {**FILES, "tests/test_own.py": own}
    found = lone(tmp_path / "bench", name, *files, project=project, wall_s=6.0 if text is SLOW else LIMITS.wall_s)
    assert (found.reason, found.ended, found.earlier) == (reason, ended, ())
    assert found.passed is (ended == "passed")
    assert found.said


UNITTESTS = """
import stock
from {module} import {base}

class StockTests({base}):
    def test_fill(self): stock.ITEMS.append('salt')
    def test_is_empty(self): self.assertEqual(stock.ITEMS, [])
"""
FUNCTIONS = """
import stock
def test_fill(): stock.ITEMS.append('salt')
def test_is_empty(): assert stock.ITEMS == []
"""


@pytest.mark.parametrize(
    ("runner", "path", "name", "fill", "project"),
    [
        (
            RunnerKind.UNITTEST,
            "tests/test_items.py",
            "tests.test_items.StockTests.test_is_empty",
            "tests.test_items.StockTests.test_fill",
            {"tests/__init__.py": "", "tests/test_items.py": UNITTESTS.format(module="unittest", base="TestCase")},
        ),
        (
            RunnerKind.DJANGO,
            "tests/app/test_items.py",
            "app.test_items.StockTests.test_is_empty",
            "app.test_items.StockTests.test_fill",
            {
                **DJANGO,
                "tests/app/test_items.py": UNITTESTS.format(module="django.test.testcases", base="SimpleTestCase"),
            },
        ),
        (
            RunnerKind.SYMPY,
            "sympy/core/tests/test_items.py",
            "sympy/core/tests/test_items.py::test_is_empty",
            "sympy/core/tests/test_items.py::test_fill",
            {**SYMPY, "sympy/core/tests/test_items.py": FUNCTIONS},
        ),
    ],
)
def test_single_cases_are_found_by_the_names_of_every_runner(
    tmp_path: Path, runner: RunnerKind, path: str, name: str, fill: str, project: dict[str, str]
) -> None:
    """A label of Django, a name of unittest, a function of sympy: run alone, and together with the one before it."""
    found = lone(tmp_path, name, path, project={**project, "stock.py": FILES["stock.py"]}, runner=runner)
    assert (found.reason, found.ended, found.earlier) == ("earlier-case", "passed", (fill,))


WRAPPED = """
import stock
from sympy.core.marks import slow

@slow
def test_fill(): stock.ITEMS.append('salt')

@slow
def test_is_empty(): assert stock.ITEMS == []
"""
SLOW = """
import functools

def slow(function):
    @functools.wraps(function)
    def test_any(): function()
    return test_any
"""


def test_a_case_of_sympy_that_another_module_wraps_belongs_to_its_file(tmp_path: Path) -> None:
    first, second = (f"sympy/core/tests/test_{name}.py" for name in ("a", "b"))
    files = {first: WRAPPED, second: FUNCTIONS.replace("test_", "test_other_"), "sympy/core/marks.py": SLOW}
    project = {**SYMPY, **files, "stock.py": FILES["stock.py"]}
    found = lone(tmp_path, f"{first}::test_is_empty", first, second, project=project, runner=RunnerKind.SYMPY)
    assert (found.reason, found.ended, found.earlier) == ("earlier-case", "passed", (f"{first}::test_fill",))
