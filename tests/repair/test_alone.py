"""Tests that end otherwise alone, in real runs of a small repository, and what is said of each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tasks.rehearsal.toys import TOYS
from tasks.repair.alone import Lone, LoneRuns
from tasks.repair.suite import SuiteRun

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


def lone(folder: Path, name: str, *files: str) -> Lone:
    """One case of some files of the repository, after a run of all of them."""
    toy = replace(TOYS[0], name="stock", files=FILES)
    with toy.bench(folder) as bench:
        paths = [f"tests/{file}.py" for file in files]
        cases = SuiteRun.of(bench.run_tests(paths)).cases
        (place,) = (number for number, case in enumerate(cases) if case.qualname == name)
        assert not cases[place].passed
        return LoneRuns(bench=bench, files=paths, case=cases[place], earlier=cases[:place]).find_out()


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
    assert Lone.of_facts(found.facts) == found
    assert found.runs == 1 if not reason else found.runs <= 12
