"""Guard runs to guard results to robust verdicts: hand-written rows in, exact tuples out."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from sql_store import SqlStore

SOLVED = {"test_a.py::new": "- - failed passed"}
FAILED = {"test_a.py::new": "- - failed failed"}
CELLS = (("placebo", "before"), ("paraphrase", "after"))
REPEATS = (("repeat", "before"), ("repeat", "after"))
EACH = 2
PLAIN = {"before": "failed", "after": "passed"}
HELD = [
    ("paraphrase", "passed", ""),
    ("placebo", "passed", ""),
    ("repeat", "not_applicable", "placebo and paraphrase are repeats as well"),
]
RESULTS = "SELECT guard, result, why FROM guard_outcome WHERE grader = 'paper' AND guard <> 'lint' ORDER BY guard"
GUARDED = "SELECT grader, solved, failed_guards, robust FROM robust_verdict ORDER BY grader"


def edits(store: SqlStore, instance: str = "i", placebo: str = "diff", paraphrase: str = "diff") -> None:
    for variant, patch in (("placebo", placebo), ("paraphrase", paraphrase)):
        skipped = [] if patch else ["a.txt: it is not Python", "b.c: it is not Python"]
        for number in range(EACH if patch else 1):
            row = {"instance_key": instance, "variant": variant, "patch": patch and f"{patch}{number}"}
            store.add("guard_edit", **row, repeat=number, skipped=skipped)


def guard(
    store: SqlStore,
    changed: Mapping[tuple[str, str], str] | None = None,
    without: tuple[tuple[str, str], ...] = (),
    suite: str = "i-m",
    cells: tuple[tuple[str, str], ...] = CELLS,
    **more: str,
) -> None:
    """The guard runs of a suite, each as the plain run was but for what the last of a variant has `changed`."""
    for variant, state in cells:
        for number in range(EACH):
            if (variant, state) not in without:
                last = (changed or {}) if number == EACH - 1 else {}
                outcome = last.get((variant, state), PLAIN[state])
                found = {} if outcome == "-" else {"test_a.py::new": outcome}
                place = suite.partition("-")[0]
                store.run(place, suite, state, found, variant=variant, repeat=number, minutes=5, **more)


@pytest.fixture
def solved(store: SqlStore) -> SqlStore:
    """One instance with one solved candidate, and the edits of its fix."""
    store.instance("i")
    store.judged("i", "m", SOLVED)
    edits(store)
    return store


def test_guards_that_hold(solved: SqlStore) -> None:
    guard(solved)
    assert solved.rows(RESULTS) == HELD
    assert solved.rows(GUARDED) == [(name, True, [], True) for name in ("paper", "swt_bench", "swt_bench_2024")]


def test_guard_runs_judge_nothing(solved: SqlStore) -> None:
    before = solved.rows("FROM verdict ORDER BY ALL"), solved.rows("FROM settled_run ORDER BY ALL")
    guard(solved, dict.fromkeys(CELLS, "failed"))
    assert (solved.rows("FROM verdict ORDER BY ALL"), solved.rows("FROM settled_run ORDER BY ALL")) == before


@pytest.mark.parametrize(("variant", "state"), CELLS)
def test_a_case_that_is_not_what_it_was(solved: SqlStore, variant: str, state: str) -> None:
    other = PLAIN["after" if state == "before" else "before"]
    guard(solved, {(variant, state): other})
    why = f"test_a.py::new: {PLAIN[state]} in `{state}`, {other} here"
    assert [row for row in solved.rows(RESULTS) if row not in HELD] == [(variant, "failed", why)]
    assert solved.one("SELECT solved, failed_guards, robust FROM robust_verdict WHERE grader = 'paper'") == (
        True,
        [variant],
        False,
    )


def test_a_case_that_is_gone_is_not_what_it_was(solved: SqlStore) -> None:
    guard(solved, {("paraphrase", "after"): "-"})
    assert solved.rows(RESULTS)[0] == ("paraphrase", "failed", "test_a.py::new: passed in `after`, missing here")


def test_each_grader_counts_outcomes_its_own_way(solved: SqlStore) -> None:
    guard(solved, {("placebo", "before"): "error"})
    assert solved.rows("SELECT grader, failed_guards FROM robust_verdict ORDER BY ALL") == [
        ("paper", []),
        ("swt_bench", ["placebo"]),
        ("swt_bench_2024", ["placebo"]),
    ]


@pytest.mark.parametrize("gone", CELLS)
def test_what_is_not_measured_is_null_and_not_false(solved: SqlStore, gone: tuple[str, str]) -> None:
    guard(solved, without=(gone,))
    why = f"there is no run on `{gone[1]}`"
    assert [row for row in solved.rows(RESULTS) if row not in HELD] == [(gone[0], "not_measured", why)]
    assert solved.rows("SELECT DISTINCT robust FROM robust_verdict") == [(None,)]


def test_every_edit_has_to_be_run(solved: SqlStore) -> None:
    """After a kill, the last placebo is missing."""
    guard(solved)
    solved.con.execute(f"DELETE FROM run WHERE variant = 'placebo' AND repeat = {EACH - 1}")
    assert solved.rows(RESULTS)[1] == ("placebo", "not_measured", "there is no run on `before`")


def test_one_failed_guard_decides_without_the_others(solved: SqlStore) -> None:
    guard(solved, {("paraphrase", "after"): "failed"}, without=(("placebo", "before"),))
    assert solved.rows("SELECT DISTINCT robust, failed_guards FROM robust_verdict") == [(False, ["paraphrase"])]


def test_a_repeat_tells_whether_it_was_the_words(solved: SqlStore) -> None:
    """It is asked for where a guard failed; such a success is confirmed as well."""
    asked = "SELECT to_guard, to_confirm, to_repeat FROM suite_to_repeat WHERE suite_id = 'i-m'"
    assert solved.one(asked) == (True, True, False)
    guard(solved)
    assert solved.one(asked) == (True, False, False)
    solved.run("i", "i-m", "before", {"test_a.py::new": "passed"}, variant="placebo", minutes=7)
    assert solved.one(asked) == (True, True, True)
    solved.run("i", "i-m", "before", {"test_a.py::new": "failed"}, variant="repeat")
    solved.run("i", "i-m", "after", {"test_a.py::new": "passed"}, variant="repeat")
    assert solved.rows(RESULTS)[-1] == ("repeat", "passed", "")
    solved.run("i", "i-m", "after", {"test_a.py::new": "failed"}, variant="repeat", minutes=9)
    assert solved.one("SELECT DISTINCT failed_guards FROM robust_verdict") == (["placebo", "repeat"],)


def test_an_edit_that_does_not_apply_measures_nothing(solved: SqlStore) -> None:
    guard(solved, {("placebo", "before"): "-"}, without=(("placebo", "before"),))
    solved.run("i", "i-m", "before", {}, variant="placebo", status="unapplied")
    assert solved.rows(RESULTS)[1] == ("placebo", "not_measured", "the edit does not apply")


def test_a_guard_that_cannot_apply_stands_in_nobodys_way(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", SOLVED)
    edits(store, placebo="")
    guard(store, without=(("placebo", "before"),))
    assert store.rows(RESULTS)[2] == ("repeat", "not_measured", "there is no run on `before`")
    guard(store, cells=(("repeat", "before"),))
    assert store.rows(RESULTS)[2] == ("repeat", "passed", "")
    assert store.rows(RESULTS)[1] == ("placebo", "not_applicable", "a.txt: it is not Python; b.c: it is not Python")
    assert store.rows("SELECT DISTINCT robust FROM robust_verdict") == [(True,)]


def test_runs_of_ours_that_failed_and_of_other_places_do_not_guard(solved: SqlStore) -> None:
    guard(solved, status="infrastructure")
    guard(solved, env_id="elsewhere")
    assert {row[1] for row in solved.rows(RESULTS)[:2]} == {"not_measured"}
    assert solved.rows("SELECT DISTINCT solved FROM verdict") == [(True,)]


def test_the_latest_guard_run_counts(solved: SqlStore) -> None:
    guard(solved, dict.fromkeys(CELLS, "error"))
    for variant, state in CELLS:
        for number in range(EACH):
            cells = {"test_a.py::new": PLAIN[state]}
            solved.run("i", "i-m", state, cells, variant=variant, repeat=number, minutes=9)
    assert solved.rows(RESULTS) == HELD


def test_what_is_not_solved_needs_no_guard(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", FAILED)
    store.candidate("i", "lost", suite=store.suite("i", "lost"))
    assert store.rows(RESULTS) == []
    assert store.rows("SELECT method, solved, robust FROM robust_verdict WHERE grader = 'paper' ORDER BY ALL") == [
        ("lost", None, None),
        ("m", False, False),
    ]


def test_a_module_that_is_not_collected_fails_its_cases(solved: SqlStore) -> None:
    guard(solved, without=(("paraphrase", "after"),))
    solved.run("i", "i-m", "after", {"test_a.py": "error"}, variant="paraphrase", repeat=EACH - 1)
    assert solved.rows(RESULTS)[0] == ("paraphrase", "failed", "test_a.py::new: passed in `after`, error here")


def test_s_guarded_stands_beside_s(store: SqlStore) -> None:
    for name in "abcd":
        store.instance(name, added=[5])
        edits(store, name)
        lines = {"test_g.py::g": [5]}
        for state in ("before", "after"):
            store.run(name, f"{name}-golden", state, {"test_g.py::g": "passed"}, lines=lines, executable=[5])
        store.candidate(name, "golden", suite=f"{name}-golden")
        suite = store.suite(name, "m")
        hit = {"test_a.py::new": [5]} if name == "a" else {"test_a.py::new": []}
        for state, outcome in (("before", "failed"), ("after", "passed" if name in "ab" else "failed")):
            store.run(name, suite, state, {"test_a.py::new": outcome}, lines=hit, executable=[5])
        store.candidate(name, "m", suite=suite)
    guard(store, suite="a-m")
    table2 = "SELECT n, S, S_robust, solved, unchecked FROM table2 WHERE method = 'm'"
    assert store.rows(table2) == [(4, 50.0, None, 2, 1)]
    guard(store, {("placebo", "before"): "passed"}, suite="b-m")
    assert store.rows(table2) == [(4, 50.0, 25.0, 2, 0)]
    table3 = "SELECT dc_solved, n_solved, dc_robust, n_robust FROM table3"
    assert store.rows(f"{table3} WHERE method = 'm' AND definition = 'paper'") == [(50.0, 2, 100.0, 1)]


def test_what_guessing_would_pass_stands_beside_the_successes_that_hold(solved: SqlStore) -> None:
    """Guard runs count from the draw of their order on, and those that may have been seen before do not."""
    guard(solved)
    guard(solved, cells=REPEATS)
    chance = "SELECT before_like, after_like, round(chance, 3) FROM guard_chance"
    table2 = "SELECT S_robust, chance FROM table2 WHERE method = 'm'"
    assert (solved.rows(chance), solved.rows(table2)) == ([(0, 0, None)], [(100.0, None)])
    first = "SELECT started_at FROM run WHERE variant <> 'plain' ORDER BY started_at LIMIT 1"
    solved.add("guard_plan", suite_id="i-m", instance_key="i", drawn_at=solved.one(first)[0])
    assert (solved.rows(chance), solved.rows(table2)) == ([(2, 2, 0.167)], [(100.0, 16.7)])
    solved.con.execute("DELETE FROM run WHERE variant = 'placebo'")
    assert solved.rows(chance) == [(0, 2, 1.0)]


def test_every_table_of_successes_has_a_guarded_side(store: SqlStore) -> None:
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
    guard(store, suite="a-m")
    guard(store, {("placebo", "before"): "passed"}, suite="b-m")
    guard(store, suite="b-n")
    assert store.rows(overlap) == [(["m"], 2, 1, 1, 1), (["m", "n"], 2, 0, 2, 0), (["n"], 1, 1, 1, 1)]
    assert store.rows(mcnemar) == [(1, 0, 1, 1, 1.0)]
    assert store.rows(passes) == [(1, 50.0, 25.0), (2, 100.0, 50.0)]


def test_what_the_lint_rejects_does_not_hold(solved: SqlStore) -> None:
    guard(solved)
    finding = {"suite_id": "i-m", "instance_key": "i", "path": "test_a.py", "detail": "os._exit(0)"}
    lint = "SELECT result, why FROM guard_outcome WHERE grader = 'paper' AND guard = 'lint'"
    solved.add("lint_finding", **finding, line=3, rule="coin")
    assert solved.rows(lint) == [("passed", "")]
    solved.add("lint_finding", **finding, line=4, rule="process-exit")
    assert solved.rows(lint) == [("failed", "process-exit in test_a.py:4: os._exit(0)")]
    assert solved.rows("SELECT DISTINCT failed_guards, robust FROM robust_verdict") == [(["lint"], False)]
