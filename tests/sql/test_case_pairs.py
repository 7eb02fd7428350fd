"""Cases whose ids differ between processes are paired by place, in SQL and in Python alike."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from sql_store import CASES, SqlStore

from tasks.domain.outcome import FAILURES, Outcome
from tasks.domain.pairing import paired, renamed

PAIR_CASES = tomllib.loads((CASES / "pairs.toml").read_text())["case"]
VERDICT = "SELECT solved, reason FROM paper"
GUARDS = "SELECT guard, result, why FROM guard_outcome WHERE grader = 'paper' AND guard = 'repeat'"


@dataclass(frozen=True)
class Placed:
    case_id: str
    path: str
    qualname: str
    place: int | None


def placed(ids: list[str]) -> list[Placed]:
    seen: Counter[str] = Counter()
    rows = []
    for name in ids:
        function = name.partition("[")[0]
        path, _, qualname = function.partition("::")
        rows.append(Placed(name, path, qualname, seen[function]))
        seen[function] += 1
    return rows


def expected(case: dict[str, Any]) -> tuple[set[tuple[str, str | None]], set[tuple[str, str | None]]]:
    """The pairs as the first run has them, and as the second has them."""
    sides: list[set[tuple[str, str | None]]] = [set(), set()]
    for one, other in (pair.split(" = ") for pair in case["pairs"]):
        if other == "?":
            sides[one in case["second"]].add((one, None))
        else:
            sides[0].add((one, other))
            sides[1].add((other, one))
    return sides[0], sides[1]


@pytest.mark.parametrize("case", PAIR_CASES, ids=[case["name"] for case in PAIR_CASES])
def test_pairs_of_two_runs(store: SqlStore, case: dict[str, Any]) -> None:
    store.instance("i")
    suite = store.suite("i", "m")
    runs = [
        store.run("i", suite, state, dict.fromkeys(case[side], "passed"))
        for state, side in (("before", "first"), ("after", "second"))
    ]
    asked = "SELECT case_id, other_case FROM case_pair WHERE run_key = '{}'"
    assert tuple(set(store.rows(asked.format(run))) for run in runs) == expected(case)
    first, second = placed(case["first"]), placed(case["second"])
    assert set(paired(second, first).items()) == expected(case)[0]
    assert set(paired(first, second).items()) == expected(case)[1]
    assert store.rows("FROM audit_case_pair") == []


def test_runs_from_before_places_were_recorded_are_compared_by_id(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", {"test_a.py::new[1]": "- - failed -", "test_a.py::new[2]": "- - - passed"})
    store.con.execute("UPDATE case_outcome SET place = NULL")
    assert store.rows("FROM case_pair") == []
    assert store.rows(VERDICT) == [(False, "missing-after")]


def test_all_runs_of_a_suite_share_the_ids_of_the_first_run_that_has_the_function() -> None:
    runs = [placed(ids) for ids in ([], ["t.py::f[a]"], ["t.py::f[b]"], ["t.py::f[c]", "t.py::f[d]"])]
    assert renamed(runs) == [{}, {}, {"t.py::f[b]": "t.py::f[a]"}, {}]


def test_failures_are_the_same_in_python_and_in_sql(store: SqlStore) -> None:
    for outcome in Outcome:
        assert store.value(f"SELECT fails('{outcome}')") is (outcome in FAILURES)
        assert store.value(f"SELECT class = 'fail' FROM paper_outcome WHERE outcome = '{outcome}'") is (
            outcome in FAILURES
        )


def suites(store: SqlStore, *cells: dict[str, str], base: tuple[str, ...] = (), edited: tuple[str, ...] = ()) -> None:
    """The only candidate, its runs given one by one: suite `none` before and after, then its own."""
    store.instance("i")
    suite = store.suite("i", "m", base_files=base, edited=edited)
    for (ref, state), found in zip(
        ((None, "before"), (None, "after"), (suite, "before"), (suite, "after")), cells, strict=True
    ):
        if ref or base:
            store.run("i", ref, state, found, files=base if ref is None else ("test_a.py",))
    store.candidate("i", "m", suite=suite)


def f(name: str) -> str:
    return f"test_a.py::f[{name}]"


T = "SELECT case_id, pair, t_reason, candidate_before, candidate_after FROM submission_case ORDER BY case_id"


def test_a_new_test_whose_id_holds_a_uuid_is_solved(store: SqlStore) -> None:
    suites(store, {}, {}, {f("a1"): "failed"}, {f("b2"): "passed"})
    assert store.rows(T) == [(f("a1"), "place", "added", "failed", "passed")]
    assert store.rows(VERDICT) == [(True, "")]
    assert store.rows("SELECT before_id, after_id FROM submission_case") == [(f("a1"), f("b2"))]


def test_the_public_harness_knows_cases_by_their_ids_alone(store: SqlStore) -> None:
    suites(store, {}, {}, {f("a1"): "failed"}, {f("b2"): "passed"})
    assert store.rows("SELECT grader, solved FROM verdict WHERE grader <> 'paper' ORDER BY ALL") == [
        ("swt_bench", True),
        ("swt_bench_2024", False),
    ]


def test_an_old_test_whose_id_differs_is_not_the_candidates(store: SqlStore) -> None:
    """It goes from failing to passing without the candidate's doing."""
    new = {"test_a.py::new": "passed"}
    cells = ({f("a"): "failed"}, {f("b"): "passed"}, {f("c"): "failed"} | new, {f("d"): "passed"} | new)
    suites(store, *cells, base=("test_a.py",))
    assert store.rows(T) == [
        (f("c"), "place", "", "failed", "passed"),
        ("test_a.py::new", "id", "added", "passed", "passed"),
    ]
    assert store.rows(VERDICT) == [(False, "passes-before")]


def test_an_old_failure_whose_id_differs_refuses_nobody(store: SqlStore) -> None:
    both = {f("c"): "failed", "test_a.py::new": "failed"}, {f("d"): "failed", "test_a.py::new": "passed"}
    suites(store, {f("a"): "failed"}, {f("b"): "failed"}, *both, base=("test_a.py",))
    assert store.rows(VERDICT) == [(True, "")]


def test_a_parameter_that_the_candidate_replaces_in_a_list_of_the_module_is_new(store: SqlStore) -> None:
    """Its id is the same in both processes, so it is no id that differs between them."""
    old = {f("1"): "passed", f("2"): "passed"}
    suites(
        store, old, old, {f("1"): "passed", f("3"): "failed"}, {f("1"): "passed", f("3"): "passed"}, base=("test_a.py",)
    )
    assert (f("3"), "id", "added", "failed", "passed") in store.rows(T)
    assert store.rows(VERDICT) == [(True, "")]


def test_another_number_of_cases_than_in_suite_none_says_that_it_is_ambiguous(store: SqlStore) -> None:
    """Which of the two is new cannot be told, so neither is evidence."""
    cells = ({f("a"): "failed"}, {f("b"): "failed"}, {f("c"): "failed", f("d"): "failed"})
    suites(store, *cells, {f("e"): "passed", f("f"): "passed"}, base=("test_a.py",))
    assert [row[:3] for row in store.rows(T)] == [
        (f("a"), "place", ""),
        (f("c"), "ambiguous", ""),
        (f("d"), "ambiguous", ""),
    ]
    assert store.rows(VERDICT) == [(False, "no-cases")]


def test_an_edited_function_is_the_candidates_however_its_cases_are_called(store: SqlStore) -> None:
    cells = ({f("a"): "failed"}, {f("b"): "failed"}, {f("c"): "failed", f("d"): "failed"})
    suites(store, *cells, {f("e"): "passed", f("f"): "passed"}, base=("test_a.py",), edited=("f",))
    assert store.rows(VERDICT) == [(True, "")]


def test_another_number_of_cases_after_the_fix_is_ambiguous_and_no_evidence(store: SqlStore) -> None:
    suites(
        store,
        {},
        {},
        {f("a"): "failed", "test_a.py::new": "failed"},
        {f("b"): "passed", f("c"): "passed", "test_a.py::new": "passed"},
    )
    assert [row[:2] for row in store.rows(T)] == [
        (f("a"), "ambiguous"),
        (f("b"), "ambiguous"),
        (f("c"), "ambiguous"),
        ("test_a.py::new", "id"),
    ]
    assert store.rows(VERDICT) == [(False, "missing-after")]


@pytest.mark.parametrize(
    ("found", "result"),
    [
        ({f("z"): "failed"}, ("repeat", "passed", "")),
        ({f("z"): "passed"}, ("repeat", "failed", f"{f('a')}: failed in `before`, passed here")),
        ({f("y"): "failed", f("z"): "failed"}, ("repeat", "not_measured", "ambiguous")),
    ],
)
def test_guard_runs_are_compared_by_place(store: SqlStore, found: dict[str, str], result: tuple[str, str, str]) -> None:
    suites(store, {}, {}, {f("a"): "failed"}, {f("b"): "passed"})
    for variant in ("placebo", "paraphrase", "variant"):
        store.add("guard_edit", instance_key="i", variant=variant, patch="", skipped=[])
    store.run("i", "i-m", "before", found, variant="repeat", minutes=5)
    store.run("i", "i-m", "after", {f("x"): "passed"}, variant="repeat", minutes=5)
    (row,) = store.rows(GUARDS)
    assert row[:2] == result[:2]
    assert row[2] == result[2] or (row[1] == "not_measured" and "id differs between processes" in row[2])


def test_golden_tests_whose_ids_differ_are_held_against_a_fix(store: SqlStore) -> None:
    """By the name that our own lists have for them."""
    store.instance("i", FAIL_TO_PASS=["test_a.py::f[#0]"])
    store.run("i", "i-golden", "before", {f("a"): "failed"})
    store.run("i", "i-golden", "after", {f("b"): "passed"})
    assert store.rows("SELECT case_id, before, after, pair, after_id FROM golden_case") == [
        (f("a"), "failed", "passed", "place", f("b"))
    ]
    for name, found in (
        ("a", {f("c"): "passed"}),
        ("b", {f("c"): "failed"}),
        ("c", {f("c"): "passed", f("d"): "passed"}),
    ):
        store.add("proposed_fix", fix_id=name, instance_key="i", instance_id="i", patch="diff")
        store.on_fix(name, "i-golden", found)
    assert store.rows("SELECT fix_id, status FROM fix_status ORDER BY ALL") == [
        ("a", "resolved"),
        ("b", "unresolved"),
        ("c", "unmeasured"),
    ]


def test_candidates_whose_ids_differ_reject_and_keep_fixes(store: SqlStore) -> None:
    store.instance("i")
    store.run("i", "i-golden", "before", {"test_a.py::g": "failed"})
    store.run("i", "i-golden", "after", {"test_a.py::g": "passed"})
    suite = store.suite("i", "m")
    store.run("i", suite, "before", {f("a"): "failed"})
    store.run("i", suite, "after", {f("b"): "passed"})
    store.candidate("i", "m", suite=suite)
    for name, outcome in (("a", "passed"), ("b", "failed"), ("c", "skipped")):
        store.add("proposed_fix", fix_id=name, instance_key="i", instance_id="i", patch="diff")
        for ref, found in (("i-golden", {"test_a.py::g": "failed"}), (suite, {f(f"new{name}"): outcome})):
            store.on_fix(name, ref, found)
    assert store.rows("SELECT fix_id, rejected FROM fix_rejection ORDER BY ALL") == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]
    assert store.rows("SELECT fix_id, kept FROM fix_filter ORDER BY ALL") == [("a", True), ("b", False), ("c", False)]


def test_sandboxes_and_tracers_are_compared_by_place(store: SqlStore) -> None:
    store.instance("i")
    store.run("i", "i-golden", "before", {f("a"): "failed"}, sandbox="bubblewrap")
    store.run("i", "i-golden", "before", {f("b"): "failed"}, sandbox="docker")
    store.run("i", "i-golden", "before", {f("c"): "failed"}, sandbox="docker", lines={f("c"): [5]})
    assert store.rows("FROM sandbox_difference") == []
    assert store.rows("FROM tracing_difference") == []
