"""Every command, on small tests that fail: what is typed, and what comes back."""

from __future__ import annotations

import pytest
from debugged import open_session

from tasks.adapters.debugger.session import DebugState
from tasks.domain.outcome import RunnerKind

COUNTING = '''\
def outer(n, *rest, **named):
    """What inner says, summed."""
    total = 0
    for i in range(n):
        total += inner(i)
    return total


def inner(i):
    if i == 3:
        raise ValueError("three")
    return i * 2


class Shop:
    @staticmethod
    def price(
        item,
    ):
        return len(
            item
        )
'''
PLAIN = """\
import unittest
from counting import Shop, outer


class TestOuter(unittest.TestCase):
    def setUp(self):
        self.seen = []

    def test_sum(self):
        with self.assertRaises(KeyError):
            {}["a"]
        self.assertEqual(Shop.price("ab"), 2)
        self.assertEqual(outer(5, 1, a=2), 2)
"""
PYTEST = """\
import pytest
from counting import outer


@pytest.mark.parametrize("n", [2, 5])
def test_outer(n):
    print("said")
    assert outer(n) == 2


def test_other():
    raise RuntimeError("not asked for")
"""
FILES = {"counting.py": COUNTING, "test_plain.py": PLAIN}
CASE = "test_plain.TestOuter.test_sum"
LISTED = """\
   9    \tdef inner(i):
  10 B->\t    if i == 3:
  11    \t        raise ValueError("three")
  12    \t    return i * 2"""
STORY = (
    ("", "The test begins here.\n> test_plain.py(10)test_sum()\n-> with self.assertRaises(KeyError):"),
    ("b counting.outer", "Breakpoint 1 at counting.py:3, hit 0 times\n-> total = 0"),
    ("b inner, i == 2", "Breakpoint 2 at counting.py:10, only if i == 2, hit 0 times\n-> if i == 3:"),
    ("c", "Breakpoint 1.\n> counting.py(3)outer()\n-> total = 0"),
    ("args", "n = 5\nrest = (1,)\nnamed = {'a': 2}"),
    ("n", "> counting.py(4)outer()\n-> for i in range(n):"),
    ("n", "> counting.py(5)outer()\n-> total += inner(i)"),
    ("s", "> counting.py(10)inner()\n-> if i == 3:"),
    ("r", "--Return-- 0\n> counting.py(12)inner()\n-> return i * 2"),
    ("up", "> counting.py(5)outer()\n-> total += inner(i)"),
    ("locals()", "n = 5\nrest = (1,)\nnamed = {'a': 2}\ntotal = 0\ni = 0"),
    ("p [n + one for one in rest]", "[6]"),
    ("up", "> test_plain.py(13)test_sum()\n-> self.assertEqual(outer(5, 1, a=2), 2)"),
    ("down", "> counting.py(5)outer()\n-> total += inner(i)"),
    ("c", "Breakpoint 2.\n> counting.py(10)inner()\n-> if i == 3:"),
    ("l", None),
    ("l.", "  10 B->\t    if i == 3:"),
    ("ll", LISTED),
    ("whatis i", "<class 'int'>"),
    ("whatis inner", "function inner"),
    ("pp {'a': i}", "{'a': 2}"),
    ("p missing", "*** NameError: name 'missing' is not defined"),
    ("b", "Breakpoint 1 at counting.py:3, hit once\nBreakpoint 2 at counting.py:10, only if i == 2, hit once"),
    ("until 12", "> counting.py(12)inner()\n-> return i * 2"),
    ("c", 'The test failed: ValueError: three\n> counting.py(11)inner()\n-> raise ValueError("three")'),
    ("p i", "3"),
    ("up", "> counting.py(5)outer()\n-> total += inner(i)"),
    ("p total", "6"),
    ("c", None),
    ("n", "*** The test is over: `restart` starts it again, with the same breakpoints."),
    ("restart", "The test begins here.\n> test_plain.py(10)test_sum()\n-> with self.assertRaises(KeyError):"),
    ("c", "Breakpoint 1.\n> counting.py(3)outer()\n-> total = 0"),
)  # fmt: skip


@pytest.mark.parametrize("minor", ["", "3.6", "3.8", "3.13"])
def test_a_session_from_its_start_to_its_restart(minor: str, debug) -> None:
    session = debug(FILES, CASE, minor=minor)
    said = [session.start().text, *(session.command(typed).text for typed, _ in STORY[1:])]
    assert [(typed, text if want else None) for (typed, want), text in zip(STORY, said, strict=True)] == list(STORY)
    assert said[15].splitlines()[5] == "  10 B->\t    if i == 3:"
    ended = said[28]
    assert ended.startswith("The test ended: error in call\n")
    assert ended.endswith("ValueError: three\n")


def test_one_case_of_pytest_with_its_parameters(debug) -> None:
    """The file's other cases do not run, and what the test prints does not get between commands and answers."""
    session = debug(
        {"counting.py": COUNTING, "tests/test_it.py": PYTEST}, "tests/test_it.py::test_outer[5]", RunnerKind.PYTEST
    )
    start = session.start()
    assert (start.path, start.line, start.function) == ("tests/test_it.py", 7, "test_outer")
    assert [session.command("p n").text, session.command("n").text.splitlines()[0]] == [
        "5",
        "> tests/test_it.py(8)test_outer()",
    ]
    failed = session.command("c")
    assert (failed.state, failed.path, failed.line) == (DebugState.POST_MORTEM, "counting.py", 11)
    assert "tests/test_it.py(8)test_outer()" in session.command("w").text
    ended = session.command("c")
    assert (ended.state, ended.outcome) == (DebugState.OVER, "failed")
    assert "not asked for" not in ended.text


def test_breakpoints_move_to_where_code_stops(debug) -> None:
    session = debug(FILES, CASE)
    session.start()
    told = {
        "b counting.py:1": "counting.py:3",
        "b counting.py:16": "counting.py:20",
        "b counting.py:17": "counting.py:20",
        "b Shop.price": "counting.py:20",
        "b counting.py:price": "counting.py:20",
        "b counting.py:7": "counting.py:10",
        "b setUp": "test_plain.py:7",
    }
    assert {typed: session.command(typed).text.split()[3].rstrip(",") for typed in told} == told
    assert session.command("restart").text.startswith("Breakpoint 4.\n> test_plain.py(7)setUp()")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("b nothing_of_that_name", "*** there is no function nothing_of_that_name in what is loaded"),
        ("b no.py:3", "*** there is no file no.py"),
        ("b 900", "*** test_plain.py has no code at line 900 or after it"),
        ("b outer, n ==", "*** the condition 'n ==' is no expression"),
        ("b outer(3)", "*** 'outer(3)' is no place"),
        ("jump 12", "*** there is no command 'jump'"),
        ("p", "*** an expression is missing"),
        ("up", "*** this is the oldest frame"),
        ("p 1 +", "*** SyntaxError: "),
        ("", "*** there is no command ''"),
    ],
)
def test_what_cannot_be_done_is_said(typed: str, said: str, shared_session) -> None:
    assert shared_session.command(typed).text.startswith(said)


@pytest.fixture(scope="module")
def shared_session(tmp_path_factory: pytest.TempPathFactory):
    with open_session(tmp_path_factory.mktemp("shared"), FILES, CASE) as session:
        session.start()
        yield session


def test_a_case_that_is_not_there_is_named_with_those_that_are(debug) -> None:
    answer = debug(FILES, "test_plain.TestOuter.test_some").start()
    assert answer.state is DebugState.OVER
    assert (
        answer.text
        == "The test never ran: there is no case test_plain.TestOuter.test_some; near it: test_plain.TestOuter.test_sum"
    )


def test_files_outside_the_checkout_have_short_names_that_can_be_typed(debug) -> None:
    session = debug(FILES, CASE)
    session.start()
    told = session.command("b self.assertEqual").text
    name = told.split()[3].rpartition(":")[0]
    assert name.startswith("lib/python3.")
    assert session.command(f"b {name}:assertEqual").text == told
    assert session.command("c").text.startswith(f"Breakpoint 1.\n> {name}(")
