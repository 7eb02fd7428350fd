"""Runs on proposed fixes to the strength of a method: hand-written rows in, exact tuples out."""

from __future__ import annotations

import pytest
from sql_store import SqlStore

GOLDEN = "test_a.py::golden"
MINE = "test_a.py::mine"
SOLVED = {MINE: "- - failed passed"}
FIXES = "SELECT fix_id, status, why FROM fix_status ORDER BY fix_id"
REJECTIONS = "SELECT candidate_id, fix_id, rejected, why FROM fix_rejection ORDER BY ALL"
STRENGTH = "SELECT method, solved, tried, fixes, rejected, strength, rejects_all FROM strength ORDER BY method"


def fix(store: SqlStore, name: str, instance: str = "i", **outcomes: str) -> None:
    """A proposed fix, and what suites do on it: `golden="passed"`, `m="failed"`; `-` for a case that is not there."""
    store.add("proposed_fix", fix_id=name, instance_key=instance, instance_id=instance, method="quick", patch="diff")
    for suite, outcome in outcomes.items():
        case = GOLDEN if suite == "golden" else MINE
        tried(store, name, f"{instance}-{suite}", {} if outcome == "-" else {case: outcome}, instance)


def tried(store: SqlStore, fix_id: str, suite: str, cells: dict[str, str], instance: str = "i", **more: str) -> None:
    run = store.run(instance, suite, "before", cells, variant="proposed", minutes=9, **more)
    store.add("fix_run", fix_id=fix_id, instance_key=instance, instance_id=instance, suite_id=suite, run_key=run)


@pytest.fixture
def judged(store: SqlStore) -> SqlStore:
    """One instance, its golden tests, and a solved candidate of the method `m`."""
    store.instance("i")
    store.run("i", "i-golden", "before", {GOLDEN: "failed"})
    store.run("i", "i-golden", "after", {GOLDEN: "passed"})
    store.judged("i", "m", SOLVED)
    return store


def test_golden_tests_say_which_fix_is_wrong(judged: SqlStore) -> None:
    fix(judged, "a", golden="passed")
    fix(judged, "b", golden="failed")
    fix(judged, "c", golden="-")
    fix(judged, "d")
    judged.add("proposed_fix", fix_id="e", instance_key="i", instance_id="i", problem="does-not-apply: x")
    assert judged.rows(FIXES) == [
        ("a", "right", ""),
        ("b", "wrong", f"{GOLDEN}: failed"),
        ("c", "wrong", f"{GOLDEN}: missing"),
        ("d", "unmeasured", ""),
        ("e", "unusable", "does-not-apply: x"),
    ]


@pytest.mark.parametrize("status", ["infrastructure", "unapplied"])
def test_a_run_that_says_nothing_is_none(judged: SqlStore, status: str) -> None:
    fix(judged, "a")
    tried(judged, "a", "i-golden", {}, status=status)
    assert judged.rows(FIXES) == [("a", "unmeasured", "")]


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


def test_only_cases_of_its_own_reject(judged: SqlStore) -> None:
    """An old test of a file that a candidate edits fails on the fix; that is not the candidate's doing."""
    old = "test_a.py::old"
    judged.judged("i", "n", {MINE: "- - failed passed", old: "passed passed passed passed"}, base=["test_a.py"])
    fix(judged, "a", golden="failed")
    tried(judged, "a", "i-n", {MINE: "passed", old: "failed"})
    assert judged.rows(REJECTIONS) == [("i-n", "a", False, "")]


def test_only_successes_count_and_fixes_of_their_own_instance(judged: SqlStore) -> None:
    judged.judged("i", "loser", {MINE: "- - failed failed"})
    judged.instance("j")
    judged.judged("j", "m", SOLVED)
    fix(judged, "a", golden="failed", m="failed", loser="failed")
    assert judged.rows(STRENGTH) == [("m", 2, 1, 1, 1, 100.0, 1)]


def test_the_latest_run_speaks(judged: SqlStore) -> None:
    fix(judged, "a", golden="failed", m="passed")
    run = judged.run("i", "i-m", "before", {MINE: "failed"}, variant="proposed", minutes=60)
    judged.add("fix_run", fix_id="a", instance_key="i", instance_id="i", suite_id="i-m", run_key=run)
    assert [row[2] for row in judged.rows(REJECTIONS)] == [True]


def test_runs_on_fixes_judge_nothing(judged: SqlStore) -> None:
    before = judged.rows("FROM verdict ORDER BY ALL"), judged.rows("FROM settled_run ORDER BY ALL")
    fix(judged, "a", golden="passed", m="failed")
    assert (judged.rows("FROM verdict ORDER BY ALL"), judged.rows("FROM settled_run ORDER BY ALL")) == before
