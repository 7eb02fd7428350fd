"""Runs on proposed fixes to what they say of fixes, tests and methods: hand-written rows in, exact tuples out."""

from __future__ import annotations

from typing import Any

import pytest
from sql_store import SqlStore

GOLDEN = "test_a.py::golden"
MINE = "test_a.py::mine"
SOLVED = {MINE: "- - failed passed"}
FIXES = "SELECT fix_id, status, why FROM fix_status ORDER BY fix_id"
REJECTIONS = "SELECT candidate_id, fix_id, rejected, why FROM fix_rejection ORDER BY ALL"
STRENGTH = "SELECT method, solved, tried, fixes, rejected, strength, rejects_all FROM strength ORDER BY method"
KEPT = "SELECT candidate_id, fix_id, tests, turned, kept, why FROM fix_filter ORDER BY ALL"


def fix(store: SqlStore, name: str, instance: str = "i", **outcomes: str) -> None:
    """A proposed fix, and what suites do on it: `golden="passed"`, `m="failed"`; `-` for a case that is not there."""
    store.add("proposed_fix", fix_id=name, instance_key=instance, instance_id=instance, patch="diff")
    for suite, outcome in outcomes.items():
        case = GOLDEN if suite == "golden" else MINE
        store.on_fix(name, f"{instance}-{suite}", {} if outcome == "-" else {case: outcome})


def handed_in(store: SqlStore, fix_id: str, method: str = "r", instance: str = "i", **more: Any) -> None:
    """A repair whose fix is `fix_id`."""
    known = {"snapshot": "s", "instance_key": instance, "instance_id": instance, "method": method, "fix_id": fix_id}
    sample = more.get("sample", 0)
    store.add("repair", repair_id=f"{instance}-{method}-{sample}", provenance="self_reported", **known, **more)


def golden(store: SqlStore, instance: str = "i", **more: Any) -> None:
    store.instance(instance, **more)
    store.run(instance, f"{instance}-golden", "before", {GOLDEN: "failed"})
    store.run(instance, f"{instance}-golden", "after", {GOLDEN: "passed"})


@pytest.fixture
def judged(store: SqlStore) -> SqlStore:
    """One instance, its golden tests, and a solved candidate of the method `m`."""
    golden(store)
    store.judged("i", "m", SOLVED)
    return store


def test_golden_tests_say_which_fix_is_right(judged: SqlStore) -> None:
    fix(judged, "a", golden="passed")
    fix(judged, "b", golden="failed")
    fix(judged, "c", golden="-")
    fix(judged, "d")
    judged.add("proposed_fix", fix_id="e", instance_key="i", instance_id="i", problem="does-not-apply: x")
    assert judged.rows(FIXES) == [
        ("a", "resolved", ""),
        ("b", "unresolved", f"FAIL_TO_PASS {GOLDEN}: failed"),
        ("c", "unresolved", f"FAIL_TO_PASS {GOLDEN}: missing"),
        ("d", "unmeasured", "the golden tests were not run on it"),
        ("e", "unusable", "does-not-apply: x"),
    ]


@pytest.mark.parametrize(
    ("status", "why"), [("infrastructure", "the golden tests were not run on it"), ("unapplied", "it clashes")]
)
def test_a_run_that_says_nothing_is_no_failure_of_the_fix(judged: SqlStore, status: str, why: str) -> None:
    fix(judged, "a")
    judged.on_fix("a", "i-golden", {}, status=status, detail="it clashes")
    handed_in(judged, "a")
    assert judged.rows(FIXES) == [("a", "unmeasured", why)]
    assert judged.rows("SELECT n, unmeasured, pass_rate FROM repair_rate") == [(0, 1, None)]


def case(name: str) -> str:
    return f"test_a.py::{name}"


@pytest.mark.parametrize(
    ("lists", "broken", "why"),
    [
        # Without lists: what turns, and what passes before in the same files.
        ({}, "turns", "FAIL_TO_PASS test_a.py::turns: failed"),
        ({}, "stays", "PASS_TO_PASS test_a.py::stays: failed"),
        ({}, "never", ""),
        # With lists: what they name, and nothing that the golden patch does not mend here.
        ({"FAIL_TO_PASS": [case("turns")], "PASS_TO_PASS": []}, "stays", ""),
        (
            {"FAIL_TO_PASS": [case("turns")], "PASS_TO_PASS": [case("stays")]},
            "stays",
            f"PASS_TO_PASS {case('stays')}: failed",
        ),
        ({"FAIL_TO_PASS": [case("turns")], "PASS_TO_PASS": [case("never")]}, "never", ""),
    ],
)
def test_the_lists_say_which_cases_count(store: SqlStore, lists: dict[str, list[str]], broken: str, why: str) -> None:
    store.instance("i", **lists)
    before = {case("turns"): "failed", case("stays"): "passed", case("never"): "failed"}
    after = before | {case("turns"): "passed"}
    for state, cells in (("before", before), ("after", after)):
        store.run("i", "i-golden", state, cells, labels={name: name for name in cells})
    fix(store, "a")
    store.on_fix("a", "i-golden", after | {case(broken): "failed"})
    assert store.rows(FIXES) == [("a", "unresolved" if why else "resolved", why)]


def test_nothing_that_must_turn_is_no_proof(store: SqlStore) -> None:
    """The golden tests do not pass with the golden patch here, so no fix can be held against them."""
    store.instance("i", FAIL_TO_PASS=["elsewhere"])
    for state in ("before", "after"):
        store.run("i", "i-golden", state, {GOLDEN: "passed"})
    fix(store, "a", golden="passed")
    assert store.rows(FIXES) == [("a", "unmeasured", "no case of FAIL_TO_PASS passes here with the golden patch")]


def test_what_passes_on_a_wrong_fix_does_not_reject_it(judged: SqlStore) -> None:
    fix(judged, "a", golden="failed", m="passed")
    fix(judged, "b", golden="failed", m="failed")
    fix(judged, "c", golden="failed", m="-")
    fix(judged, "d", golden="passed", m="failed")
    fix(judged, "e", m="failed")
    assert judged.rows(REJECTIONS) == [
        ("i-m", "a", False, ""),
        ("i-m", "b", True, f"{MINE}: failed"),
        ("i-m", "c", True, f"{MINE}: missing"),
    ]
    assert judged.rows(STRENGTH) == [("m", 1, 1, 3, 2, 66.7, 0)]
    assert judged.rows("SELECT S_robust IS NULL, strength FROM table2 WHERE method = 'm'") == [(True, 66.7)]
    assert judged.rows(KEPT) == [
        ("i-m", "a", 1, 1, True, ""),
        ("i-m", "b", 1, 0, False, f"{MINE}: failed"),
        ("i-m", "c", 1, 0, False, f"{MINE}: missing"),
        ("i-m", "d", 1, 0, False, f"{MINE}: failed"),
        ("i-m", "e", 1, 0, False, f"{MINE}: failed"),
    ]


def test_only_cases_of_its_own_reject(judged: SqlStore) -> None:
    """An old test of a file that a candidate edits fails on the fix; that is not the candidate's doing."""
    old = "test_a.py::old"
    judged.judged("i", "n", {MINE: "- - failed passed", old: "passed passed passed passed"}, base=["test_a.py"])
    fix(judged, "a", golden="failed")
    judged.on_fix("a", "i-n", {MINE: "passed", old: "failed"})
    assert judged.rows(REJECTIONS) == [("i-n", "a", False, "")]
    assert judged.rows(KEPT) == [("i-n", "a", 1, 1, True, "")]


def test_a_module_that_cannot_be_collected_before_may_be_with_the_fix(judged: SqlStore) -> None:
    module, later = "test_b.py", "test_b.py::later"
    judged.judged("i", "n", {module: "- - error -", later: "- - - passed"})
    for name, cells in (("a", {later: "passed"}), ("b", {module: "error"}), ("c", {})):
        fix(judged, name)
        judged.on_fix(name, "i-n", cells)
    assert [row[1:] for row in judged.rows(KEPT)] == [
        ("a", 1, 1, True, ""),
        ("b", 1, 0, False, f"{later}: missing"),
        ("c", 1, 0, False, f"{later}: missing"),
    ]


def test_no_test_keeps_nothing(judged: SqlStore) -> None:
    old = "test_a.py::old"
    judged.judged("i", "n", {old: "passed passed passed passed"}, base=["test_a.py"])
    fix(judged, "a")
    judged.on_fix("a", "i-n", {old: "passed"})
    assert judged.rows(KEPT) == [("i-n", "a", 0, 0, False, "no test of its own ran")]


def test_only_successes_count_and_fixes_of_their_own_instance(judged: SqlStore) -> None:
    judged.judged("i", "loser", {MINE: "- - failed failed"})
    judged.instance("j")
    judged.judged("j", "m", SOLVED)
    fix(judged, "a", golden="failed", m="failed", loser="failed")
    assert judged.rows(STRENGTH) == [("m", 2, 1, 1, 1, 100.0, 1)]
    assert judged.rows("SELECT method, strength FROM table2 WHERE method IN ('m', 'loser') ORDER BY method") == [
        ("loser", None),
        ("m", 100.0),
    ]


def test_the_latest_run_speaks(judged: SqlStore) -> None:
    fix(judged, "a", golden="failed", m="passed")
    run = judged.run("i", "i-m", "before", {MINE: "failed"}, variant="proposed", minutes=60)
    judged.add("fix_run", fix_id="a", instance_key="i", instance_id="i", suite_id="i-m", run_key=run)
    assert [row[2] for row in judged.rows(REJECTIONS)] == [True]


def test_runs_on_fixes_judge_nothing(judged: SqlStore) -> None:
    before = judged.rows("FROM verdict ORDER BY ALL"), judged.rows("FROM settled_run ORDER BY ALL")
    fix(judged, "a", golden="passed", m="failed")
    assert (judged.rows("FROM verdict ORDER BY ALL"), judged.rows("FROM settled_run ORDER BY ALL")) == before
