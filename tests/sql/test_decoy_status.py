"""Golden tests on proposed decoys to the decoys that candidates run on: hand-written rows in, exact tuples out."""

from __future__ import annotations

from typing import Any

import pytest
from sql_store import SqlStore

from tasks.domain.decoy import CHOSEN as CHOSEN_AT_MOST

ONE, TWO, STAYS = (f"test_g.py::{name}" for name in ("one", "two", "stays"))
BEFORE = {ONE: "failed", TWO: "failed", STAYS: "passed"}
AFTER = {ONE: "passed", TWO: "passed", STAYS: "passed"}
NOISY = {**BEFORE, STAYS: "failed"}
NEW = "test_a.py::new"
SOLVED = {NEW: "- - failed passed"}
STATUS = "SELECT fix_id, class, quiet, why FROM decoy_status ORDER BY number"
CHOSEN = "SELECT fix_id, place FROM chosen_decoy ORDER BY place"


def golden(store: SqlStore, name: str = "i", **more: Any) -> None:
    """An instance whose golden tests have two cases that turn and one that stays."""
    store.instance(name, **more)
    for state, cells in (("before", BEFORE), ("after", AFTER)):
        store.run(name, f"{name}-golden", state, cells)


@pytest.fixture
def judged(store: SqlStore) -> SqlStore:
    golden(store)
    return store


@pytest.mark.parametrize(
    ("cells", "status", "expected"),
    [
        (BEFORE, "completed", ("decoy", True, "")),
        (NOISY, "completed", ("decoy", False, "")),
        ({STAYS: "passed"}, "completed", ("decoy", True, "")),
        ({ONE: "error", TWO: "timeout"}, "completed", ("decoy", False, "")),
        ({**BEFORE, ONE: "passed"}, "completed", ("partial-fix", True, "1 of 2 cases of FAIL_TO_PASS pass")),
        ({**NOISY, TWO: "passed"}, "timeout", ("partial-fix", False, "1 of 2 cases of FAIL_TO_PASS pass")),
        (AFTER, "completed", ("fix", True, "2 of 2 cases of FAIL_TO_PASS pass")),
        ({**AFTER, STAYS: "failed"}, "completed", ("fix", False, "2 of 2 cases of FAIL_TO_PASS pass")),
        ({"test_g.py": "error"}, "completed", ("broken", False, "test_g.py cannot be collected")),
        ({ONE: "failed"}, "timeout", ("broken", False, "the golden tests end with timeout")),
        (BEFORE, "crashed", ("broken", True, "the golden tests end with crashed")),
        (None, "", ("unmeasured", None, "the golden tests were not run on it")),
        ({}, "infrastructure", ("unmeasured", None, "the golden tests were not run on it")),
        ({}, "unapplied", ("unmeasured", None, "")),
    ],
)
def test_golden_tests_decide_what_a_proposed_decoy_is(
    judged: SqlStore, cells: dict[str, str] | None, status: str, expected: tuple[str, bool | None, str]
) -> None:
    judged.decoy("a", cells, status=status)
    assert judged.rows(STATUS) == [("a", *expected)]
    assert judged.rows(CHOSEN) == ([("a", 1)] if expected[0] == "decoy" else [])


def test_a_module_that_the_base_commit_cannot_collect_breaks_no_decoy(store: SqlStore) -> None:
    """The golden tests import what the fix adds; a module that only the decoy breaks is another matter."""
    store.instance("i")
    store.run("i", "i-golden", "before", {"test_g.py": "error", "test_h.py::stays": "passed"})
    store.run("i", "i-golden", "after", {ONE: "passed", "test_h.py::stays": "passed"})
    store.decoy("a", {"test_g.py": "error", "test_h.py::stays": "passed"})
    store.decoy("b", {"test_g.py": "error", "test_h.py": "error"})
    assert store.rows(STATUS) == [
        ("a", "decoy", True, ""),
        ("b", "broken", False, "test_h.py cannot be collected"),
    ]


def test_a_decoy_without_a_fix_of_its_own_is_unmeasured(judged: SqlStore) -> None:
    judged.add("decoy", fix_id="a", instance_key="i", instance_id="i", kind="mutant")
    assert judged.rows(STATUS) == [("a", "unmeasured", None, "there is no such fix")]


def test_golden_tests_that_cannot_be_measured_make_no_decoy(store: SqlStore) -> None:
    """No case turns here, so nothing is held against the decoy."""
    store.instance("i")
    for state in ("before", "after"):
        store.run("i", "i-golden", state, {ONE: "passed"})
    store.decoy("a", {ONE: "passed"})
    assert store.rows("SELECT class, quiet FROM decoy_status") == [("unmeasured", None)]


def test_decoys_come_from_three_directions(judged: SqlStore) -> None:
    """Of each direction the best one, quiet ones first; then the second best of each."""
    for name, kind, near, cells in (
        ("still", "no-behaviour", True, BEFORE),
        ("noisy", "broken-fix", True, NOISY),
        ("loud", "mutant", True, NOISY),
        ("far", "mutant", False, NOISY),
        ("broken", "mutant", True, {"test_g.py": "error"}),
        ("quiet", "mutant", True, BEFORE),
        ("part", "partial", True, BEFORE),
        ("other", "other-fix", False, BEFORE),
        ("wrong", "wrong-repair", True, BEFORE),
    ):
        judged.decoy(name, cells, kind=kind, near=near)
    assert judged.rows(CHOSEN) == [("part", 1), ("quiet", 2), ("other", 3)]
    judged.con.execute("DELETE FROM decoy WHERE fix_id IN ('part', 'quiet')")
    assert judged.rows(CHOSEN) == [("wrong", 1), ("loud", 2), ("other", 3)]
    judged.con.execute("DELETE FROM decoy WHERE fix_id IN ('wrong', 'other', 'loud')")
    assert judged.rows(CHOSEN) == [("noisy", 1), ("far", 2), ("still", 3)]


def test_golden_tests_that_fail_with_the_golden_patch_make_no_decoy(store: SqlStore) -> None:
    """The failing case may be the one that tells a decoy from the fix."""
    store.instance("i")
    store.run("i", "i-golden", "before", {ONE: "failed", TWO: "failed"})
    store.run("i", "i-golden", "after", {ONE: "passed", TWO: "failed"})
    store.decoy("a", {ONE: "failed", TWO: "failed"})
    assert store.rows(STATUS) == [("a", "unmeasured", None, f"{TWO} fails with the golden patch")]


def test_each_instance_has_decoys_of_its_own(judged: SqlStore) -> None:
    golden(judged, "j")
    for name in "abcd":
        judged.decoy(f"i{name}", BEFORE)
    judged.decoy("ja", BEFORE, instance="j")
    counted = "SELECT instance_id, count(*) FROM chosen_decoy GROUP BY ALL ORDER BY ALL"
    assert judged.rows(counted) == [("i", CHOSEN_AT_MOST), ("j", 1)]


STATE = "SELECT instance_id, suite_id, chosen, short, wrong FROM decoy_state ORDER BY ALL"


def test_golden_tests_try_more_decoys_until_there_are_enough(judged: SqlStore) -> None:
    short = "SELECT len(chosen), short FROM decoy_state"
    assert judged.rows(STATE) == [("i", "i-golden", [], True, [])]
    judged.decoy("a", BEFORE, kind="no-behaviour")
    judged.decoy("b", NOISY)
    judged.decoy("c", BEFORE, near=False)
    assert judged.rows(STATE) == [("i", "i-golden", ["a", "b", "c"], True, [])]
    judged.decoy("d")
    assert judged.rows(short) == [(3, True)], "no mutant near the fix is quiet"
    judged.on_fix("d", "i-golden", BEFORE)
    assert judged.rows(short) == [(3, True)], "none like the fix changes behaviour"
    judged.decoy("e", BEFORE, kind="broken-fix")
    assert judged.rows(STATE) == [("i", "i-golden", ["e", "d", "c"], False, [])]
    judged.con.execute("DELETE FROM decoy WHERE fix_id IN ('a', 'b', 'c')")
    assert judged.rows(short) == [(2, True)]


def repair(store: SqlStore, fix_id: str, cells: dict[str, str] | None = None, instance: str = "i") -> None:
    """A repair, and what the golden tests do on it; without them it is one that the store has already."""
    known = {"instance_key": instance, "instance_id": instance, "fix_id": fix_id}
    store.add("repair", snapshot="s", repair_id=f"r-{fix_id}", method="r", provenance="self_reported", **known)
    if cells is not None:
        store.add("proposed_fix", **known, patch=f"diff of {fix_id}")
        store.on_fix(fix_id, f"{instance}-golden", cells)


def test_repairs_that_fix_nothing_can_become_decoys(judged: SqlStore) -> None:
    """A decoy that no repair proposed is not made of again."""
    repair(judged, "wrong", BEFORE)
    repair(judged, "partial", {**BEFORE, ONE: "passed"})
    repair(judged, "right", AFTER)
    repair(judged, "also-wrong", NOISY)
    judged.decoy("a", BEFORE)
    assert judged.value("SELECT wrong FROM decoy_state") == ["also-wrong", "wrong"]


def test_an_instance_with_empty_golden_tests_has_no_state(store: SqlStore) -> None:
    store.add("task_instance", snapshot="s", instance_id="i", instance_key="i")
    assert store.rows(STATE) == []


def test_decoys_are_no_wrong_repairs(judged: SqlStore) -> None:
    """They are in `decoy_rejection` only, unless a repair proposed the same change."""
    judged.judged("i", "m", SOLVED)
    judged.decoy("own", BEFORE)
    judged.decoy("proposed", BEFORE, kind="wrong-repair")
    repair(judged, "proposed")
    for name, outcome in (("own", "passed"), ("proposed", "failed")):
        judged.on_fix(name, "i-m", {NEW: outcome})
    rejection = "SELECT fix_id, rejected FROM {} WHERE candidate_id = 'i-m' ORDER BY fix_id"
    assert judged.rows(rejection.format("decoy_rejection")) == [("own", False), ("proposed", True)]
    assert judged.rows(rejection.format("fix_rejection")) == [("proposed", True)]
    assert judged.rows("SELECT fix_id, kept FROM fix_filter ORDER BY fix_id") == [("proposed", False)]
    assert judged.rows("SELECT method, fixes, rejected FROM strength") == [("m", 1, 1)]
    assert judged.rows("SELECT strength FROM table2 WHERE method = 'm'") == [(100.0,)]


def test_how_many_decoys_each_instance_has(judged: SqlStore) -> None:
    for name in "jk":
        golden(judged, name)
    judged.decoy("a", BEFORE, kind="no-behaviour")
    judged.decoy("b", NOISY)
    judged.decoy("c", {**BEFORE, ONE: "passed"}, kind="partial")
    judged.decoy("d")
    judged.decoy("e", BEFORE, instance="j")
    columns = "instance_id, proposed, tried, valid, quiet, partial_fixes, chosen, enough, kinds"
    assert judged.rows(f"SELECT {columns} FROM decoy_count") == [
        ("i", 4, 3, 2, 1, 1, 2, True, ["mutant", "no-behaviour"]),
        ("j", 1, 1, 1, 1, 0, 1, False, ["mutant"]),
    ]


def test_which_kinds_of_decoys_successes_accept(judged: SqlStore) -> None:
    """Golden tests and unsolved candidates are left out, and pairs without a run."""
    golden(judged, "j")
    judged.candidate("i", "golden", suite="i-golden")
    for name in "ij":
        judged.judged(name, "m", SOLVED)
    judged.judged("i", "n", {NEW: "- - failed failed"})
    for name, instance, kind, cells, outcome in (
        ("a", "i", "mutant", BEFORE, "passed"),
        ("b", "j", "mutant", NOISY, "failed"),
        ("c", "j", "mutant", {"test_g.py": "error"}, ""),
        ("d", "i", "partial", AFTER, ""),
        ("e", "i", "partial", {**BEFORE, TWO: "passed"}, ""),
        ("f", "j", "other-fix", BEFORE, ""),
        ("g", "j", "no-behaviour", None, ""),
    ):
        judged.decoy(name, cells, instance=instance, kind=kind)
        if outcome:
            judged.on_fix(name, f"{instance}-m", {NEW: outcome})
    judged.on_fix("a", "i-n", {NEW: "failed"})
    columns = "kind, instances, tried, valid, partial_fixes, fixes, broken, pairs, accepted"
    assert judged.rows(f"SELECT {columns} FROM decoy_kind") == [
        ("mutant", 2, 3, 2, 0, 0, 1, 2, 1),
        ("other-fix", 1, 1, 1, 0, 0, 0, 0, 0),
        ("partial", 0, 2, 0, 1, 1, 0, 0, 0),
    ]
