"""Which test definitions differ between two states of a file, and why."""

import textwrap
from unittest.mock import patch

import pytest

from tasks.evaluate.runs import definitions
from tasks.evaluate.runs.edited_definitions import edited_definitions

MODULE = """
import pytest

LIMIT = 1

@pytest.fixture
def base():
    return 1

@pytest.fixture
def value(base):
    return base

@pytest.fixture(name="renamed")
def _other():
    return 2

@pytest.fixture
def unused():
    return 3

def helper():
    return LIMIT

def test_plain():
    assert helper()

@pytest.mark.parametrize("x", [1, 2])
def test_param(x):
    assert x

def test_value(value):
    assert value

@pytest.mark.usefixtures("renamed")
def test_marked():
    pass

def test_dynamic(request):
    assert request.getfixturevalue("base")

class TestBase:
    size = 1

    def setup_method(self):
        self.x = 1

    def helper(self):
        return 1

    def test_one(self):
        assert self.x

    @pytest.fixture
    def own(self):
        return 1

    def test_own(self, own):
        assert own

class TestSub(TestBase):
    def test_two(self):
        pass

    class TestInner:
        def test_three(self):
            pass
"""
ALL_OF_BASE = ["TestBase.test_one", "TestBase.test_own", "TestSub.test_one", "TestSub.test_own", "TestSub.test_two"]


def edited(old: str, new: str, module: str = MODULE) -> dict[str, str]:
    assert old in module
    edits = edited_definitions("tests/test_x.py", module, module.replace(old, new, 1))
    assert edits.note == ""
    return {edit.qualname: edit.why for edit in edits.definitions}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("assert helper()", "assert not helper()", {"test_plain": "source"}),
        ("[1, 2]", "[1, 2, 3]", {"test_param": "source"}),
        ("def test_plain():", "@pytest.mark.xfail\ndef test_plain():", {"test_plain": "source"}),
        ("def test_plain():", "async def test_plain():", {"test_plain": "source"}),
        ("assert helper()", "assert helper()  # why", {}),
        ("LIMIT = 1", "LIMIT = 2", {}),
        ("return LIMIT", "return LIMIT + 1", {}),
        ("def test_plain", "def test_renamed", {}),
        ("return 1", "return 7", {"test_value": "fixture", "test_dynamic": "fixture"}),
        ("return 2", "return 7", {"test_marked": "fixture"}),
        ("return 3", "return 7", {}),
        ("size = 1", "size = 2", dict.fromkeys(ALL_OF_BASE, "class")),
        ("self.x = 1", "self.x = 2", dict.fromkeys(ALL_OF_BASE, "class")),
        ("class TestBase:", "@mark\nclass TestBase:", dict.fromkeys(ALL_OF_BASE, "class")),
        ("assert self.x", "assert not self.x", {"TestBase.test_one": "source", "TestSub.test_one": "source"}),
        ("assert own", "assert not own", {"TestBase.test_own": "source", "TestSub.test_own": "source"}),
        ("def helper(self):", "def helper(self, y=1):", {}),
        (
            "TestSub(TestBase)",
            "TestSub(TestBase, object)",
            dict.fromkeys([n for n in ALL_OF_BASE if "Sub" in n], "class"),
        ),
        ("            pass\n", "            assert 0\n", {"TestSub.TestInner.test_three": "source"}),
    ],
)
def test_edit(old: str, new: str, expected: dict[str, str]) -> None:
    assert edited(old, new) == expected


def test_fixtures_of_a_class_concern_its_cases() -> None:
    found = edited("    def own(self):\n        return 1", "    def own(self):\n        return 2")
    assert found == {"TestBase.test_own": "fixture", "TestSub.test_own": "fixture"}


def test_an_autouse_fixture_concerns_every_case() -> None:
    module = "import pytest\n\n@pytest.fixture(autouse=True)\ndef auto():\n    yield 1\n\ndef test_a():\n    pass\n"
    assert edited("yield 1", "yield 2", module) == {"test_a": "fixture"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("x = 1", "x = 2"), ("pytestmark = None", "pytestmark = []"), ("def setUpModule", "def tearDownModule")],
)
def test_module_setup_concerns_every_case(old: str, new: str) -> None:
    module = "pytestmark = None\n\ndef setUpModule():\n    x = 1\n\nclass A:\n    def test_a(self): pass\n"
    assert edited(old, new, module) == {"A.test_a": "module"}


def test_the_first_reason_counts() -> None:
    after = MODULE.replace("size = 1", "size = 2").replace("assert self.x", "assert 0")
    edits = edited_definitions("t.py", MODULE, after).definitions
    assert {edit.qualname: edit.why for edit in edits}["TestBase.test_one"] == "source"


def test_definitions_under_conditions_are_seen() -> None:
    module = "try:\n    import x\nexcept ImportError:\n    def test_a(): pass\n"
    module += "else:\n    class T:\n        def test_b(self): pass\n"
    assert edited("def test_b(self): pass", "def test_b(self): assert 0", module) == {"T.test_b": "source"}
    assert edited("def test_a(): pass", "def test_a(): assert 0", module) == {"test_a": "source"}


@pytest.mark.parametrize("before", [None, "def test_a(): pass\n"])
def test_new_files_and_equal_files_have_none(before: str | None) -> None:
    assert edited_definitions("t.py", before, "def test_a(): pass\n").definitions == ()


def test_other_files_have_none() -> None:
    assert edited_definitions("data.json", "{}", "[]").definitions == ()


OLD_PYTHON = textwrap.dedent("""
    async = True

    class A(object):
        def setUp(self):
            self.x = 1

        def test_a(self):
            run(async=True)

        def test_b(self):
            pass

    def test_c():
        print 'c'
""")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("run(async=True)", "run(async=False)", {"A.test_a": "source"}),
        ("print 'c'", "print 'd'", {"test_c": "source"}),
        ("self.x = 1", "self.x = 2", dict.fromkeys(["A.test_a", "A.test_b", "test_c"], "module")),
    ],
)
def test_what_cannot_be_parsed_is_compared_as_text(old: str, new: str, expected: dict[str, str]) -> None:
    edits = edited_definitions("t.py", OLD_PYTHON, OLD_PYTHON.replace(old, new))
    assert {edit.qualname: edit.why for edit in edits.definitions} == expected
    assert "compared as text" in edits.note


@pytest.mark.parametrize("after", ["def test_a(:\n", "\0", "x = " + "(" * 5000, "def test_\udce9(): pass\n"])
def test_hostile_text_does_no_harm(after: str) -> None:
    assert "compared as text" in edited_definitions("t.py", "def test_a(): pass\n", after).note


@pytest.mark.slow
def test_thousands_that_inherit_thousands_are_not_looked_at() -> None:
    """Four million cases, none of which was there before; the methods of a class that was there may come from below."""
    many = 2_000
    before = "class TestOld(TestBase):\n    def test_a(self): 1\n\n\nclass TestOther:\n    def test_a(self): 1\n"
    methods = "".join(f"    def test_{number}(self): 1\n" for number in range(many))
    heirs = "".join(f"class TestHeir{number}(TestBase): 1\n" for number in range(many))
    after = f"class TestBase:\n{methods}{before.replace('1', '2', 1)}{heirs}"
    with patch.object(definitions, "Case", side_effect=definitions.Case) as made:
        found = edited_definitions("tests/test_x.py", before, after).definitions
    assert {edit.qualname: edit.why for edit in found} == {"TestOld.test_a": "source"}
    assert made.call_count == 2 + 2
