"""The order of cases: as given, reversed and by lot, in every runner; the same seed is the same order everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import pytest
from script_projects import DJANGO, SYMPY

from tasks.adapters.runner.job import RunnerJob
from tasks.domain.names import RepoPath
from tasks.domain.outcome import CaseOrder, RunnerKind

NAMES = ("a", "b", "c", "d")
BASES = {"unittest": "unittest.TestCase", "django": "SimpleTestCase"}
HEADS = {
    "unittest": "import unittest\n",
    "django": "from django.test.testcases import SimpleTestCase\nimport unittest\n",
}

Took = Callable[..., list[str]]


def classes(kind: str, base: str | None = None) -> str:
    """A module with two classes of four cases."""
    bodies = (
        f"class {name}({base or BASES[kind]}):\n" + "".join(f"    def test_{case}(self): pass\n" for case in NAMES)
        for name in ("First", "Second")
    )
    return HEADS[kind] + "\n\n".join(bodies)


FUNCTIONS = "".join(f"def test_{case}(): pass\n" for case in NAMES)
PROJECTS = {
    RunnerKind.UNITTEST: {f"tests/test_{name}.py": classes("unittest") for name in NAMES},
    RunnerKind.PYTEST: {f"tests/test_{name}.py": classes("unittest") + "\n" + FUNCTIONS for name in NAMES},
    RunnerKind.DJANGO: DJANGO
    | {f"tests/app/test_{name}.py": classes("django") for name in NAMES[:2]}
    | {f"tests/app/test_{name}.py": classes("django", "unittest.TestCase") for name in NAMES[2:]},
    RunnerKind.SYMPY: SYMPY | {f"sympy/core/tests/test_{name}.py": FUNCTIONS for name in NAMES},
}


@pytest.fixture
def took(project, run) -> Took:
    """Runs a project and returns its cases in the order in which they were taken."""

    def take(kind: RunnerKind, order: CaseOrder, seed: int | None = None, python: str = sys.executable) -> list[str]:
        files = sorted(name for name in PROJECTS[kind] if name.rpartition("/")[2] in {f"test_{n}.py" for n in NAMES})
        job = RunnerJob(
            kind=kind,
            files=tuple(RepoPath(name) for name in files),
            test_args=("-C",) if kind is RunnerKind.SYMPY else (),
            pythonpath=True,
            order=order,
            order_seed=seed,
        )
        ran = run(python, project(PROJECTS[kind]), job)
        assert ran.report.completed, ran.output
        return [case.case_id for case in ran.report.cases]

    return take


def module_of(case: str) -> str:
    return case.split("::")[0] if "::" in case else ".".join(case.split(".")[:-2])


def class_of(case: str) -> str:
    return case.rpartition("::" if "::" in case else ".")[0]


def stays_together(cases: Sequence[str], group: Callable[[str], str]) -> bool:
    runs = [key for key, _ in groupby(cases, key=group)]
    return len(runs) == len(set(runs))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROJECTS)
def test_the_orders(kind: RunnerKind, took: Took) -> None:
    given, again = took(kind, CaseOrder.GIVEN), took(kind, CaseOrder.GIVEN)
    backwards = took(kind, CaseOrder.REVERSED)
    drawn, same, other = (took(kind, CaseOrder.SHUFFLED, seed) for seed in (7, 7, 8))

    assert given == again
    if kind is RunnerKind.DJANGO:  # its kinds of cases keep their order
        assert [case for case in backwards if module_of(case)[-1] in "ab"] == [
            case for case in given[::-1] if module_of(case)[-1] in "ab"
        ]
    else:
        assert backwards == given[::-1]
    assert drawn == same
    assert len({tuple(given), tuple(given[::-1]), tuple(drawn), tuple(other)}) == 4
    assert sorted(given) == sorted(drawn) == sorted(other)
    for cases in (drawn, other):
        assert stays_together(cases, module_of)
        assert stays_together([case for case in cases if class_of(case) != module_of(case)], class_of)


@pytest.mark.slow
def test_functions_stand_between_classes_and_classes_stay_whole(took: Took) -> None:
    cases = took(RunnerKind.PYTEST, CaseOrder.SHUFFLED, 7)
    inside = [case for case in cases if case.count("::") == 2]
    places = {name: [at for at, case in enumerate(cases) if class_of(case) == name] for name in map(class_of, inside)}

    assert len(places) == 8
    assert all(at[-1] - at[0] == len(NAMES) - 1 for at in places.values())


STEPS = """
class Steps({base}):
    made = []

    def test_a(self):
        {write}

    def test_b(self):
        pass

    def test_c(self):
        pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "stays"),
    [
        ("type(self).shop = 1", True),
        ("self.__class__.shop = 1", True),
        ("Steps.shop = 1", True),
        ("setattr(type(self), 'shop', 1)", True),
        ("self.made.append(1)", True),
        ("Steps.made[:] = [1]", True),
        ("self.shop = 1", False),
        ("assert self.made == []", False),
    ],
)
def test_steps_keep_their_order(write: str, stays: bool, project, run) -> None:
    order = {}
    for kind in (RunnerKind.PYTEST, RunnerKind.UNITTEST):
        text = "import unittest\n" + STEPS.format(base="unittest.TestCase", write=write)
        job = RunnerJob(kind=kind, files=(RepoPath("tests/test_a.py"),), pythonpath=True, order=CaseOrder.REVERSED)
        ran = run(sys.executable, project({"tests/test_a.py": text}), job)
        order[kind] = "".join(case.case_id[-1] for case in ran.report.cases)
    assert set(order.values()) == {"abc" if stays else "cba"}


def test_kinds_of_cases_stay_in_the_order_that_django_isolates_them_by(took: Took) -> None:
    cases = took(RunnerKind.DJANGO, CaseOrder.SHUFFLED, 7)
    simple = [module_of(case).rpartition("_")[2] in NAMES[:2] for case in cases]

    assert simple == sorted(simple, reverse=True)


@pytest.mark.parametrize("kind", [RunnerKind.UNITTEST, RunnerKind.DJANGO, RunnerKind.SYMPY])
def test_a_seed_is_the_same_order_on_the_oldest_and_the_newest_interpreter(
    kind: RunnerKind, pythons: dict[str, str], took: Took
) -> None:
    there = [pythons[minor] for minor in ("3.6", "3.9", "3.13") if minor in pythons]
    if len(there) < 2:
        pytest.skip("fewer than two of CPython 3.6, 3.9 and 3.13 are installed here")

    assert one_of_a_kind(took(kind, CaseOrder.SHUFFLED, 7, python) for python in there)


@pytest.mark.network
def test_a_seed_is_the_same_order_with_an_old_and_a_new_pytest(libraries, project, run, pythons) -> None:
    files = dict.fromkeys(PROJECTS[RunnerKind.PYTEST], FUNCTIONS)
    job = RunnerJob(
        kind=RunnerKind.PYTEST,
        files=tuple(RepoPath(name) for name in sorted(files)),
        order=CaseOrder.SHUFFLED,
        order_seed=7,
    )
    orders = []
    for minor in ("3.6", "3.9", "3.13"):
        installed = libraries(minor)
        orders.append([case.case_id for case in run(pythons[minor], project(files), job, installed).report.cases])

    assert len(orders[0]) == 16
    assert one_of_a_kind(orders)


def one_of_a_kind(orders: Iterable[list[str]]) -> bool:
    return len({tuple(order) for order in orders}) == 1


PARAMETERS = """
import pytest
from itertools import count


@pytest.fixture(scope="module", params=["y", "x"])
def shared(request): pass


@pytest.mark.parametrize("row", ["b", "a", "c"])
def test_rows(row): pass


@pytest.mark.parametrize("row", ["b", "a"])
def test_shared(shared, row): pass


class TestOne:
    @pytest.mark.parametrize("row", ["b", "a"])
    def test_rows(self, row): pass
"""


@pytest.mark.parametrize("order", CaseOrder)
def test_a_place_does_not_depend_on_the_order(project, run, order: CaseOrder) -> None:
    """Nor on that which pytest itself makes of the parameters of a shared fixture."""
    job = RunnerJob(
        kind=RunnerKind.PYTEST,
        files=(RepoPath("tests/test_rows.py"),),
        order=order,
        order_seed=3 if order is CaseOrder.SHUFFLED else None,
    )
    ran = run(sys.executable, project({"tests/test_rows.py": PARAMETERS}), job)
    found = {case.case_id.partition("::")[2]: (case.qualname, case.place) for case in ran.report.cases}
    rows = {name: place for name, (_, place) in found.items()}
    assert (rows["test_rows[b]"], rows["test_rows[a]"], rows["test_rows[c]"]) == (0, 1, 2), ran.output
    assert found["TestOne::test_rows[a]"] == ("TestOne.test_rows", 1)
    shared = [name for name in rows if name.startswith("test_shared")]
    assert sorted(rows[name] for name in shared) == [0, 1, 2, 3]
    assert {name: rows[name] for name in shared} == {
        "test_shared[y-b]": 0,
        "test_shared[y-a]": 1,
        "test_shared[x-b]": 2,
        "test_shared[x-a]": 3,
    }
