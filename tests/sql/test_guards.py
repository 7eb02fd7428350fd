"""Runs of robustness checks to their results to robust verdicts: hand-written rows in, exact tuples out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sql_store import SqlStore

NEW = "test_a.py::new"
SOLVED = {NEW: "- - failed passed"}
FAILED = {NEW: "- - failed failed"}
GOLDEN = "test_g.py::g"
EDITED = ("placebo", "paraphrase", "variant")
CHECKS = (
    ("repeat", "before"),
    ("repeat", "after"),
    ("placebo", "before"),
    ("paraphrase", "after"),
    ("variant", "after"),
)
PLAIN = {"before": "failed", "after": "passed"}
OTHER = {"before": "passed", "after": "failed"}
NO_DECOY = ("decoy", "not_applicable", "the instance has no valid decoy")
PASSED = [(name, "passed", "") for name in ("paraphrase", "placebo", "repeat", "variant")]
RESULTS = "SELECT guard, result, why FROM guard_outcome WHERE grader = 'paper' AND guard <> 'decoy' ORDER BY guard"
DECOYS = (
    "SELECT result, why, decoys, decoys_rejected FROM guard_outcome "
    "WHERE grader = 'paper' AND method = 'm' AND guard = 'decoy'"
)
ROBUST = "SELECT robust, failed_guards, decoys, decoys_rejected FROM robust_verdict WHERE grader = 'paper' AND solved"


def edits(store: SqlStore, instance: str = "i", **patches: str) -> None:
    """The three edits of an instance; `placebo=""` for one that cannot be made."""
    for variant in EDITED:
        patch = patches.get(variant, "diff")
        skipped = [] if patch else ["a.txt: it is not Python", "b.c: it is not Python"]
        store.add("guard_edit", instance_key=instance, variant=variant, patch=patch, skipped=skipped)


def check(
    store: SqlStore,
    changed: Mapping[tuple[str, str], str] | None = None,
    *,
    without: tuple[tuple[str, str], ...] = (),
    suite: str = "i-m",
    minutes: int = 5,
    **more: Any,
) -> None:
    """The checks of a suite, each as the plain run was but for what is `changed`; `-` for a case that is gone."""
    for variant, state in CHECKS:
        if (variant, state) not in without:
            outcome = (changed or {}).get((variant, state), PLAIN[state])
            found = {} if outcome == "-" else {NEW: outcome}
            store.run(suite.partition("-")[0], suite, state, found, variant=variant, minutes=minutes, **more)


def with_golden(store: SqlStore, instance: str = "i", **more: Any) -> None:
    """An instance with golden tests that were run."""
    store.instance(instance, **more)
    for state, outcome in PLAIN.items():
        store.run(instance, f"{instance}-golden", state, {GOLDEN: outcome})


def decoy(store: SqlStore, fix_id: str, outcome: str = "", suite: str = "i-m", **more: Any) -> None:
    """A valid decoy, and what the candidate does on it; empty for no run."""
    store.decoy(fix_id, {GOLDEN: "failed"}, instance=suite.partition("-")[0], **more)
    if outcome:
        store.on_fix(fix_id, suite, {} if outcome == "-" else {NEW: outcome})


@pytest.fixture
def solved(store: SqlStore) -> SqlStore:
    """One instance with golden tests, one solved candidate, and the edits of its fix."""
    with_golden(store)
    store.judged("i", "m", SOLVED)
    edits(store)
    return store


def test_checks_that_pass(solved: SqlStore) -> None:
    check(solved)
    decoy(solved, "a", "failed")
    assert solved.rows(RESULTS) == PASSED
    assert solved.rows(DECOYS) == [("passed", "", 1, 1)]
    assert solved.rows("SELECT grader, robust, failed_guards, decoys FROM robust_verdict ORDER BY grader") == [
        (name, True, [], 1) for name in ("paper", "swt_bench", "swt_bench_2024")
    ]


def test_checks_judge_nothing(solved: SqlStore) -> None:
    before = solved.rows("FROM verdict ORDER BY ALL"), solved.rows("FROM settled_run ORDER BY ALL")
    check(solved, {(variant, state): OTHER[state] for variant, state in CHECKS})
    decoy(solved, "a", "passed")
    assert (solved.rows("FROM verdict ORDER BY ALL"), solved.rows("FROM settled_run ORDER BY ALL")) == before


@pytest.mark.parametrize(("variant", "state"), CHECKS)
def test_a_case_that_behaves_otherwise_fails_the_check(solved: SqlStore, variant: str, state: str) -> None:
    check(solved, {(variant, state): OTHER[state]})
    why = f"{NEW}: {PLAIN[state]} in `{state}`, {OTHER[state]} here"
    assert [row for row in solved.rows(RESULTS) if row not in PASSED] == [(variant, "failed", why)]
    assert solved.rows(ROBUST) == [(False, [variant], 0, 0)]


def test_a_case_that_is_gone_fails_the_check(solved: SqlStore) -> None:
    check(solved, {("paraphrase", "after"): "-"})
    assert solved.rows(RESULTS)[0] == ("paraphrase", "failed", f"{NEW}: passed in `after`, missing here")


def test_a_module_that_cannot_be_collected_fails_its_cases(solved: SqlStore) -> None:
    check(solved, without=(("paraphrase", "after"),))
    solved.run("i", "i-m", "after", {"test_a.py": "error"}, variant="paraphrase")
    assert solved.rows(RESULTS)[0] == ("paraphrase", "failed", f"{NEW}: passed in `after`, error here")


def test_each_grader_counts_outcomes_its_own_way(solved: SqlStore) -> None:
    check(solved, {("placebo", "before"): "error"})
    assert solved.rows("SELECT grader, failed_guards FROM robust_verdict ORDER BY ALL") == [
        ("paper", []),
        ("swt_bench", ["placebo"]),
        ("swt_bench_2024", ["placebo"]),
    ]


@pytest.mark.parametrize("gone", CHECKS)
def test_a_check_that_is_not_measured_is_null_and_not_false(solved: SqlStore, gone: tuple[str, str]) -> None:
    check(solved, without=(gone,))
    why = f"there is no run on `{gone[1]}`"
    assert [row for row in solved.rows(RESULTS) if row not in PASSED] == [(gone[0], "not_measured", why)]
    assert solved.rows("SELECT DISTINCT robust FROM robust_verdict") == [(None,)]


def test_a_check_without_edits_is_not_measured(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", SOLVED)
    assert {row[:2] for row in store.rows(RESULTS)} == {(name, "not_measured") for name in ("repeat", *EDITED)}


def test_one_failed_check_decides_without_the_others(solved: SqlStore) -> None:
    check(solved, {("paraphrase", "after"): "failed"}, without=(("placebo", "before"),))
    assert solved.rows("SELECT DISTINCT robust, failed_guards FROM robust_verdict") == [(False, ["paraphrase"])]


def test_an_edit_that_does_not_apply_measures_nothing(solved: SqlStore) -> None:
    check(solved, without=(("placebo", "before"),))
    solved.run("i", "i-m", "before", {}, variant="placebo", status="unapplied")
    assert solved.rows(RESULTS)[1] == ("placebo", "not_measured", "the edit does not apply")


def test_a_check_that_does_not_apply_changes_nothing(store: SqlStore) -> None:
    with_golden(store)
    store.judged("i", "m", SOLVED)
    edits(store, placebo="")
    check(store, without=(("placebo", "before"),))
    assert store.rows(RESULTS)[1] == ("placebo", "not_applicable", "a.txt: it is not Python; b.c: it is not Python")
    assert store.rows(DECOYS) == [(*NO_DECOY[1:], 0, 0)]
    assert store.rows("SELECT DISTINCT robust FROM robust_verdict") == [(True,)]


def test_runs_of_another_environment_and_infrastructure_failures_check_nothing(solved: SqlStore) -> None:
    check(solved, status="infrastructure")
    check(solved, env_id="elsewhere")
    assert {row[1] for row in solved.rows(RESULTS)} == {"not_measured"}
    assert solved.rows("SELECT DISTINCT solved FROM verdict") == [(True,)]


def test_the_latest_run_of_a_check_counts(solved: SqlStore) -> None:
    check(solved, dict.fromkeys(CHECKS, "error"))
    check(solved, minutes=9)
    assert solved.rows(RESULTS) == PASSED


def test_a_candidate_that_is_not_solved_needs_no_check(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", FAILED)
    store.candidate("i", "lost", suite=store.suite("i", "lost"))
    assert store.rows(RESULTS) == []
    robust = "SELECT method, solved, robust, decoys FROM robust_verdict WHERE grader = 'paper' ORDER BY ALL"
    assert store.rows(robust) == [("lost", None, None, None), ("m", False, False, None)]


@pytest.mark.parametrize(
    ("outcome", "result", "why", "robust", "counts"),
    [
        ("failed", "passed", "", True, (1, 1)),
        ("error", "passed", "", True, (1, 1)),
        ("timeout", "passed", "", True, (1, 1)),
        ("-", "passed", "", True, (1, 1)),
        ("passed", "failed", "accepts a decoy (mutant): not in f", False, (1, 0)),
        # It throws no error, so nothing says that the issue is still there.
        ("skipped", "failed", "accepts a decoy (mutant): not in f", False, (1, 0)),
        ("", "not_measured", "there is no run on decoy 1", None, (0, 0)),
    ],
)
def test_a_success_has_to_reject_a_decoy(
    solved: SqlStore, outcome: str, result: str, why: str, robust: bool | None, counts: tuple[int, int]
) -> None:
    check(solved)
    decoy(solved, "a", outcome, detail="not in f")
    failed = ["decoy"] if result == "failed" else []
    assert solved.rows(DECOYS) == [(result, why, *counts)]
    assert solved.rows(ROBUST) == [(robust, failed, *counts)]


def test_an_infrastructure_failure_on_a_decoy_is_no_run(solved: SqlStore) -> None:
    check(solved)
    decoy(solved, "a")
    solved.on_fix("a", "i-m", {}, status="infrastructure")
    assert solved.rows(DECOYS) == [("not_measured", "there is no run on decoy 1", 0, 0)]


def test_a_decoy_that_is_accepted_decides_and_one_that_is_missing_does_not(solved: SqlStore) -> None:
    check(solved)
    for name, outcome in (("a", "failed"), ("b", "passed"), ("c", "")):
        decoy(solved, name, outcome)
    assert solved.rows(DECOYS) == [("failed", "accepts a decoy (mutant): b", 2, 1)]
    assert solved.rows(ROBUST) == [(False, ["decoy"], 2, 1)]
    asked = "SELECT fix_id, place, rejected, why FROM decoy_rejection ORDER BY place"
    assert solved.rows(asked) == [
        ("a", 1, True, f"{NEW}: failed"),
        ("b", 2, False, "accepts a decoy (mutant): b"),
        ("c", 3, None, "there is no run on decoy 3"),
    ]


def test_one_case_that_fails_on_a_decoy_rejects_it(solved: SqlStore) -> None:
    """Of the cases that turn; an old case that fails there, and a new one that never turns, reject nothing."""
    old, stays, also = (f"test_a.py::{name}" for name in ("old", "stays", "also"))
    cells = {old: "passed passed passed passed", stays: "- - passed passed", also: "- - failed passed"}
    solved.judged("i", "n", cells, base=["test_a.py"])
    solved.judged("i", "o", {**SOLVED, also: "- - failed passed"})
    decoy(solved, "a", "failed")
    solved.on_fix("a", "i-n", {old: "failed", stays: "failed", also: "passed"})
    solved.on_fix("a", "i-o", {NEW: "passed", also: "failed"})
    assert solved.rows("SELECT candidate_id, rejected, why FROM decoy_rejection ORDER BY ALL") == [
        ("i-m", True, f"{NEW}: failed"),
        ("i-n", False, "accepts a decoy (mutant): a"),
        ("i-o", True, f"{also}: failed"),
    ]


def test_a_candidate_without_a_case_that_turns_meets_no_decoy(solved: SqlStore) -> None:
    """An unsolved candidate of a filter for repairs: it has nothing to reject with."""
    solved.judged("i", "n", FAILED)
    decoy(solved, "a")
    solved.on_fix("a", "i-n", {NEW: "failed"})
    asked = "SELECT result, why, decoys FROM guard_result WHERE method = 'n' AND guard = 'decoy' AND grader = 'paper'"
    assert solved.rows(asked) == [("not_applicable", "no case goes from failing to passing", 0)]


@pytest.mark.parametrize(
    ("found", "result"),
    [
        ({"test_a.py::f[c]": "failed"}, "passed"),
        ({"test_a.py::f[c]": "passed"}, "failed"),
        ({"test_a.py::f[c]": "failed", "test_a.py::f[d]": "failed"}, "not_measured"),
    ],
)
def test_cases_whose_ids_differ_are_paired_by_place_on_a_decoy(
    store: SqlStore, found: dict[str, str], result: str
) -> None:
    with_golden(store)
    suite = store.suite("i", "m")
    store.run("i", suite, "before", {"test_a.py::f[a]": "failed"})
    store.run("i", suite, "after", {"test_a.py::f[b]": "passed"})
    store.candidate("i", "m", suite=suite)
    decoy(store, "a")
    store.on_fix("a", suite, found)
    ((told, why, *_),) = store.rows(DECOYS)
    assert told == result
    assert result != "not_measured" or why.startswith("test_a.py::f[a]: the id differs between processes")


def test_an_instance_without_a_valid_decoy_asks_for_none(solved: SqlStore) -> None:
    check(solved)
    solved.decoy("a", {GOLDEN: "passed"})
    solved.decoy("b")
    solved.on_fix("a", "i-m", {NEW: "passed"})
    assert solved.rows(DECOYS) == [(*NO_DECOY[1:], 0, 0)]
    assert solved.rows(ROBUST) == [(True, [], 0, 0)]


@pytest.mark.slow
def test_which_suites_run_again(solved: SqlStore) -> None:
    """A success gets its checks, and repeats without watched lines where one failed or is missing."""
    asked = "SELECT to_guard, to_confirm FROM suite_to_repeat WHERE suite_id = 'i-m'"
    assert solved.one(asked) == (True, True)
    check(solved)
    assert solved.one(asked) == (True, False)
    decoy(solved, "a")
    assert solved.one(asked) == (True, True)
    solved.on_fix("a", "i-m", {NEW: "failed"})
    assert solved.one(asked) == (True, False)
    solved.on_fix("a", "i-m", {NEW: "passed"}, minutes=12)
    assert solved.one(asked) == (True, True)


@pytest.mark.slow
def test_robust_successes_beside_all_successes(store: SqlStore) -> None:
    for name in "abcd":
        store.instance(name, added=[5])
        edits(store, name)
        for state, outcome in PLAIN.items():
            store.run(name, f"{name}-golden", state, {GOLDEN: outcome}, lines={GOLDEN: [5]}, executable=[5])
        store.candidate(name, "golden", suite=f"{name}-golden")
        suite = store.suite(name, "m")
        hit = {NEW: [5]} if name == "a" else {NEW: []}
        for state, outcome in (("before", "failed"), ("after", "passed" if name in "ab" else "failed")):
            store.run(name, suite, state, {NEW: outcome}, lines=hit, executable=[5])
        store.candidate(name, "m", suite=suite)
    check(store, suite="a-m")
    for number, outcome in enumerate(("failed", "failed", "error")):
        decoy(store, f"a{number}", outcome, suite="a-m")
    table2 = "SELECT n, S, S_robust, decoys, decoys_rejected, solved, unchecked FROM table2 WHERE method = 'm'"
    assert store.rows(table2) == [(4, 50.0, None, 3, 3, 2, 1)]
    check(store, suite="b-m")
    decoy(store, "b0", "failed", suite="b-m")
    decoy(store, "b1", "passed", suite="b-m")
    assert store.rows(table2) == [(4, 50.0, 25.0, 5, 4, 2, 0)]
    table3 = "SELECT dc_solved, n_solved, dc_robust, n_robust FROM table3"
    assert store.rows(f"{table3} WHERE method = 'm' AND definition = 'paper'") == [(50.0, 2, 100.0, 1)]


def test_methods_are_in_the_order_of_their_robust_successes(store: SqlStore) -> None:
    """Then those with a success that was not checked; the controls come first."""
    for name in "ab":
        with_golden(store, name)
        edits(store, name)
        store.candidate(name, "nop")
        store.candidate(name, "golden", suite=f"{name}-golden")
        for method in ("more", "unchecked"):
            store.judged(name, method, SOLVED)
    store.judged("a", "robust", SOLVED)
    check(store, suite="a-robust")
    for suite in ("a-more", "b-more"):
        check(store, {("placebo", "before"): "passed"}, suite=suite)
    assert store.rows("SELECT method, S, S_robust FROM table2") == [
        ("golden", 100.0, None),
        ("nop", 0.0, 0.0),
        ("robust", 50.0, 50.0),
        ("more", 100.0, 0.0),
        ("unchecked", 100.0, None),
    ]


def test_every_table_of_successes_has_a_robust_side(store: SqlStore) -> None:
    for name in "ab":
        store.instance(name)
        edits(store, name)
        store.judged(name, "m", SOLVED)
        store.judged(name, "n", SOLVED if name == "b" else FAILED)
        store.judged(name, "m", FAILED, sample=1)
    overlap = "SELECT methods, by_any, exactly_robust, by_any_robust, by_all_robust FROM method_overlap ORDER BY ALL"
    mcnemar = "SELECT only_a, only_b, only_a_robust, only_b_robust, p_robust FROM mcnemar"
    passes = "SELECT k, pass_at_k, pass_at_k_robust FROM pass_at_k WHERE grader = 'paper' AND method = 'm' ORDER BY k"
    assert store.rows(overlap) == [
        (["m"], 2, None, None, None),
        (["m", "n"], 2, None, None, None),
        (["n"], 1, None, None, None),
    ]
    assert store.rows(mcnemar) == [(1, 0, None, None, None)]
    assert store.rows(passes) == [(1, 50.0, None), (2, 100.0, None)]
    check(store, suite="a-m")
    check(store, {("placebo", "before"): "passed"}, suite="b-m")
    check(store, suite="b-n")
    assert store.rows(overlap) == [(["m"], 2, 1, 1, 1), (["m", "n"], 2, 0, 2, 0), (["n"], 1, 1, 1, 1)]
    assert store.rows(mcnemar) == [(1, 0, 1, 1, 1.0)]
    assert store.rows(passes) == [(1, 50.0, 25.0), (2, 100.0, 50.0)]
