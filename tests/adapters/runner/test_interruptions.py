"""Whatever ends a session, and wherever: nothing passes that did not, and what did pass stays passed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from interruptions.matrix import EXPECTED, Cell, Seen, alone, cells, claims, line, table

FILES = {"1": "test_a.py", "2": "test_b.py", "3": "test_c.py"}
RACE = "SIGKILL, whole group"
"""It takes the keeper of the report with it: how much of the report is there is chance."""
FAST_PLACES = {"pytest.exit": "body", "KeyboardInterrupt": None, "sys.exit(0)": None, "os._exit(0)": "class teardown"}
"""Interruption → its only place in the fast sample; null: all of them. Any other one stands there with its body."""
KILLED = ("sympy", "text that interrupts", "import")
OLD_AND_NEW = ("3.6", "3.7", "3.9", "3.10", "3.13")
CORE = ("pytest.exit", "INTERNALERROR", "KeyboardInterrupt", "sys.exit(0)", "os._exit(0)")
CORE_PLACES = ("class set-up", "case set-up", "body", "case teardown", "class teardown")


def is_fast(cell: Cell) -> bool:
    places = FAST_PLACES.get(cell.interruption, "body")
    return cell.interruption != "time limit" and places in (None, cell.place)


def said(cell: Cell, seen: Seen) -> str:
    """The row, and what is to be known where it is not the one that was expected."""
    return f"{line(cell, seen)}\nexit code {seen.exit_code}, {seen.log}"


def check(seen: Seen, cell: Cell) -> None:
    """The rules that hold for every cell, whatever the interpreter."""
    assert claims(seen) == set(), said(cell, seen)
    for name, file in FILES.items():
        assert name in seen.outcomes or file in seen.outcomes, f"nothing is said of {name}: {said(cell, seen)}"
    if "1" in seen.ended and cell.interruption != RACE:
        assert seen.outcomes["1"] == "passed/call", said(cell, seen)


def compare(site: Path, found: list[tuple[Cell, Seen]]) -> None:
    """As `expected.txt` has it, but for what is a race. The rules hold for every run; a row that differs is made once
    more with nothing beside it, because what a busy machine killed or kept waiting is not what the runner made of it.
    """
    stated = EXPECTED.read_text("utf-8").splitlines()
    rows = {" | ".join(row.split(" | ")[:3]): row for row in stated}
    assert len(rows) == len(stated) == len(list(cells()))
    for cell, seen in found:
        check(seen, cell)
        expected = rows[f"{cell.runner} | {cell.interruption} | {cell.place}"]
        if cell.interruption == RACE or line(cell, seen) == expected:
            continue
        again = alone(cell, sys.executable, site)
        check(again, cell)
        assert line(cell, again) == expected, f"alone: {said(cell, again)}\nbeside others: {said(cell, seen)}"


@pytest.fixture
def site() -> Path:
    """Where this interpreter has its pytest."""
    return Path(pytest.__file__).parent.parent


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table was made on CPython 3.11")
def test_a_sample_of_the_table(site: Path) -> None:
    chosen = [cell for cell in cells() if is_fast(cell)]
    compare(site, table(chosen, sys.executable, site))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table was made on CPython 3.11")
def test_a_share_of_what_is_slow(site: Path) -> None:
    """Every sixteenth of the slow cells; with `SWT_WHOLE_TABLE=1` all of them, which takes four minutes of a core."""
    slow = [cell for cell in cells() if not is_fast(cell)]
    chosen = slow if os.environ.get("SWT_WHOLE_TABLE") else slow[::16]
    compare(site, table(chosen, sys.executable, site))


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(600)
@pytest.mark.parametrize("python", OLD_AND_NEW, indirect=True)
def test_the_core_on_other_interpreters(
    python: str, request: pytest.FixtureRequest, libraries: Callable[[str], Path]
) -> None:
    """pytest 7.0, 5.4, 3.10, 6.2 and 9.0, and unittest of as many CPythons: every third cell of each, all among them,
    and all of each with `SWT_WHOLE_TABLE=1`."""
    minor = request.node.callspec.params["python"]
    chosen = [
        cell
        for cell in cells()
        if cell.interruption in CORE and cell.place in CORE_PLACES and cell.runner in ("pytest", "unittest")
    ]
    if not os.environ.get("SWT_WHOLE_TABLE"):
        chosen = chosen[OLD_AND_NEW.index(minor) % 3 :: 3]
    for cell, seen in table(chosen, python, libraries(minor)):
        check(seen, cell)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table was made on CPython 3.11")
def test_a_row_that_differs_is_made_again_and_a_false_pass_is_none_the_better(site: Path) -> None:
    cell = next(cell for cell in cells() if (cell.runner, cell.interruption, cell.place) == KILLED)
    lost = Seen(dict.fromkeys(FILES.values(), "error/collect"), frozenset(), -9, "the machine killed it")
    compare(site, [(cell, lost)])
    with pytest.raises(AssertionError, match="the machine killed it"):
        compare(site, [(cell, replace(lost, outcomes={**lost.outcomes, "2": "passed/call"}))])
