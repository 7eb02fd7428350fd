"""Code that is nested deeply: Python runs it, and whatever walks it by recursion ends at 1,000 calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from domain_rows import candidate_row, task_instance

from tasks.adapters.patch.render import Change, render
from tasks.domain.outcome import Policy, RunVariant
from tasks.domain.syntax import DEEPEST
from tasks.evaluate.intake.submissions import ProcessedCandidates, take_in
from tasks.integrity.decoys import decoys_of
from tasks.integrity.edits import guard_edits

FORMS: dict[str, Callable[[int], str]] = {
    "sum": lambda n: f"x = {' + '.join(['1'] * n)}",
    "calls": lambda n: f"x = y{'.a()' * n}",
    "branches": lambda n: "if x == 0:\n    pass\n" + "".join(f"elif x == {i}:\n    pass\n" for i in range(n)),
    "condition": lambda n: f"if x{'.a()' * n}:\n    pass",
    "decorator": lambda n: f"@x{'.a' * n}\ndef test_x():\n    pass",
    "called decorator": lambda n: f"@x{'.a()' * n}\ndef test_x():\n    pass",
    "base class": lambda n: f"class TestX(x{'.a()' * n}):\n    def test_x(self):\n        pass",
    "opened": lambda n: f"open('a'{' + 1' * n})",
    "ended": lambda n: f"import os\nos._exit(0{' + 0' * n})",
    "lambdas": lambda n: f"x = {'lambda: ' * n}1",
    "negations": lambda n: f"assert {'not ' * n}1",
    "digits": lambda n: f"x = 0x{'f' * (15 * n + 1)}",
    "lists": lambda n: f"x = {'[' * n}{']' * n}",
}
DEPTHS = (60, 95, 180, 195, 450, 900, 1400, 2900)
DRILLED = [pytest.param(depth, marks=pytest.mark.drill) for depth in DEPTHS[1:-1]]
OLD = "def test_old():\n    assert 1\n"
CONFTEST = "import pytest\n"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def edits_of_a_test(text: str) -> dict[str, tuple[Change, dict[str, bytes]]]:
    """A change with `text` in it for each way that it can be there, and the files of the base commit."""
    tall = f"{OLD}{text}\n"
    return {
        "a new file": (Change(path="tests/test_new.py", before=None, after=f"{text}\n\n{OLD}"), {}),
        "a new test": (Change(path="tests/test_new.py", before=None, after=f"def test_x():\n{indented(text)}"), {}),
        "added": (Change(path="tests/test_old.py", before=OLD, after=tall), {"tests/test_old.py": OLD.encode()}),
        "there before": (
            Change(path="tests/test_old.py", before=tall, after=tall.replace("assert 1", "assert 2")),
            {"tests/test_old.py": tall.encode()},
        ),
        "conftest": (
            Change(path="tests/conftest.py", before=CONFTEST, after=f"{CONFTEST}{text}\n"),
            {"tests/conftest.py": CONFTEST.encode()},
        ),
    }


def taken_in(change: Change, base: dict[str, bytes]) -> ProcessedCandidates:
    candidate = candidate_row(patch=render([change]))
    return take_in(task_instance(), [candidate], Policy.TESTS_ONLY, lambda path: base.get(str(path)))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("form", FORMS)
def test_a_candidate_is_taken_in_however_deep_it_is(form: str, depth: int) -> None:
    """An exception here would leave all candidates for this instance without a verdict."""
    for where, (change, base) in edits_of_a_test(FORMS[form](depth)).items():
        (submission,) = taken_in(change, base).submissions
        assert submission.well_formed or where == "conftest", where


@pytest.mark.parametrize("form", FORMS)
def test_what_is_too_deep_to_be_read_is_a_finding(form: str) -> None:
    """So nothing can be hidden below it."""
    change, base = edits_of_a_test(FORMS[form](2 * DEEPEST))["added"]
    assert {finding.rule for finding in taken_in(change, base).lint} == {"unreadable"}


@pytest.mark.slow
@pytest.mark.parametrize("depth", [DEPTHS[0], *DRILLED, DEPTHS[-1]])
@pytest.mark.parametrize("form", FORMS)
def test_a_fix_is_edited_or_left_and_named_however_deep_it_is(form: str, depth: int) -> None:
    text = FORMS[form](depth)
    before = f"def f(x):\n    return x\n\n\n{text}\n"
    after = before.replace("return x\n", "return x + 1\n")
    patch = render([Change(path="p/m.py", before=before, after=after)])
    base = {"p/m.py": before.encode(), "p/deep.py": text.encode(), "p/flat.py": b"def g(y):\n    return y\n"}
    instance = task_instance(patch=patch)
    found = guard_edits(instance, lambda path: base.get(str(path)), "s")
    assert [edit.variant for edit in found] == [RunVariant.PLACEBO, RunVariant.PARAPHRASE, RunVariant.VARIANT]
    assert all(bool(edit.patch) != bool(edit.skipped) for edit in found)
    assert decoys_of(instance, lambda path: base.get(str(path)), python="3.11", secret="s")
