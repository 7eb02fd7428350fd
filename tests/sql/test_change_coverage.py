"""Change coverage by both definitions: which lines count, and which of them T adds an execution to."""

from __future__ import annotations

from sql_store import SqlStore

COVERAGE = "SELECT definition, measured, numerator, denominator, delta_c FROM change_coverage ORDER BY definition"


def golden_runs(store: SqlStore, before: dict[str | None, list[int]], after: dict[str | None, list[int]]) -> None:
    """The golden tests' traced runs; every line up to 20 is a statement."""
    for state, lines in (("before", before), ("after", after)):
        store.run("i", "i-golden", state, {"test_g.py::g": "passed"}, lines=lines, executable=list(range(1, 21)))


def candidate(store: SqlStore, before: dict[str | None, list[int]], after: dict[str | None, list[int]]) -> None:
    """A candidate that adds a file with the case `new`."""
    suite = store.suite("i", "m")
    for state, outcome, lines in (("before", "failed", before), ("after", "passed", after)):
        store.run("i", suite, state, {"test_a.py::new": outcome}, lines=lines)
    store.candidate("i", "m", suite=suite)


def test_sides_are_read_in_their_own_state(store: SqlStore) -> None:
    store.instance("i", removed=[1, 2], added=[2, 3])
    golden_runs(store, {"test_g.py::g": [1, 2, 3]}, {"test_g.py::g": [1, 2]})
    candidate(store, {"test_a.py::new": [1, 3]}, {"test_a.py::new": [1, 2, 3]})
    assert store.rows(COVERAGE) == [("paper", True, 2, 3, 2 / 3), ("swt_bench", True, 3, 4, 0.75)]


def test_only_lines_that_a_reference_run_executes_count(store: SqlStore) -> None:
    store.instance("i", added=[5, 6, 7], golden_base=["test_g.py"])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    for state in ("before", "after"):
        store.run("i", None, state, {}, files=["test_g.py"], lines={"test_g.py::old": [6]}, executable=[5, 6, 7])
    candidate(store, {}, {"test_a.py::new": [5, 6, 7]})
    assert store.rows(COVERAGE) == [("paper", True, 2, 2, 1.0), ("swt_bench", True, 3, 3, 1.0)]


def test_importing_the_fix_is_no_merit_where_the_own_tests_import_it(store: SqlStore) -> None:
    store.instance("i", added=[5, 6], golden_base=["test_g.py"])
    golden_runs(store, {None: []}, {None: [5], "test_g.py::g": [6]})
    for state in ("before", "after"):
        store.run("i", None, state, {}, files=["test_g.py"], lines={None: [5]}, executable=[5, 6])
    candidate(store, {None: []}, {None: [5]})
    assert store.rows(COVERAGE) == [("paper", True, 0, 2, 0.0), ("swt_bench", True, 1, 2, 0.5)]


def test_importing_counts_where_nothing_of_the_repository_does(store: SqlStore) -> None:
    store.instance("i", added=[5, 6])
    golden_runs(store, {}, {None: [5], "test_g.py::g": [6]})
    candidate(store, {}, {None: [5]})
    assert store.rows(COVERAGE) == [("paper", True, 1, 2, 0.5), ("swt_bench", True, 1, 2, 0.5)]


def test_cases_that_were_there_add_nothing(store: SqlStore) -> None:
    store.instance("i", added=[5])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    suite = store.suite("i", "m", base_files=["test_a.py"])
    old, new = "test_a.py::old", "test_a.py::new"
    for state in ("before", "after"):
        store.run("i", None, state, {old: "passed"}, lines={old: [5]})
        store.run("i", suite, state, {old: "passed", new: "passed"}, lines={old: [5], new: []})
    store.candidate("i", "m", suite=suite)
    assert store.rows(COVERAGE) == [("paper", True, 0, 1, 0.0), ("swt_bench", True, 0, 1, 0.0)]


def extended(store: SqlStore, *, uncounted: bool = False) -> None:
    """A candidate that makes the existing case `old` execute line 5 once more, and line 6 as often as before."""
    store.instance("i", added=[5, 6])
    golden_runs(store, {}, {"test_g.py::g": [5, 6]})
    suite = store.suite("i", "m", base_files=["test_a.py"], edited=["old"])
    old = "test_a.py::old"
    for state, outcome in (("before", "failed"), ("after", "passed")):
        store.run("i", None, state, {old: "passed"}, lines={old: [5, 6, 6]}, uncounted=uncounted)
        store.run("i", suite, state, {old: outcome}, lines={old: [5, 5, 6, 6]})
    store.candidate("i", "m", suite=suite)


def test_a_candidate_that_extends_a_case_adds_the_executions_that_it_adds(store: SqlStore) -> None:
    extended(store)
    assert store.rows(COVERAGE) == [("paper", True, 2, 2, 1.0), ("swt_bench", True, 1, 2, 0.5)]


def test_the_harness_cannot_be_followed_where_executions_were_not_counted(store: SqlStore) -> None:
    extended(store, uncounted=True)
    assert store.rows(COVERAGE) == [("paper", True, 2, 2, 1.0), ("swt_bench", False, None, None, None)]


def test_the_harness_reads_the_base_of_removed_lines_after_the_fix(store: SqlStore) -> None:
    store.instance("i", removed=[5])
    golden_runs(store, {"test_g.py::g": [5]}, {"test_g.py::g": [5]})
    suite = store.suite("i", "m", base_files=["test_a.py"])
    old, new = "test_a.py::old", "test_a.py::new"
    store.run("i", None, "before", {old: "passed"}, lines={})
    store.run("i", None, "after", {old: "passed"}, lines={old: [5], None: [5]})
    for state in ("before", "after"):
        store.run("i", suite, state, {old: "passed", new: "passed"}, lines={new: [5]})
    store.candidate("i", "m", suite=suite)
    assert store.rows(COVERAGE) == [("paper", True, 1, 1, 1.0), ("swt_bench", True, 0, 1, 0.0)]


def test_a_golden_patch_without_executable_lines_has_no_coverage(store: SqlStore) -> None:
    store.instance("i", added=[99])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    candidate(store, {}, {"test_a.py::new": [99]})
    assert store.rows(COVERAGE) == [("paper", True, 0, 0, None), ("swt_bench", True, 0, 0, None)]


def test_a_run_that_could_not_watch_a_file_says_nothing_of_its_lines(store: SqlStore) -> None:
    store.instance("i", added=[5, 6])
    golden_runs(store, {}, {"test_g.py::g": [5, 6]})
    suite = store.suite("i", "m")
    blind = {"detail": "unprobed: src.py"}
    for state, outcome in (("before", "failed"), ("after", "passed")):
        store.run("i", suite, state, {"test_a.py::new": outcome}, lines={}, **blind)
    store.candidate("i", "m", suite=suite)
    assert store.rows(COVERAGE) == [("paper", False, None, None, None), ("swt_bench", False, None, None, None)]
    for state, outcome in (("before", "failed"), ("after", "passed")):  # an earlier run that could
        store.run("i", suite, state, {"test_a.py::new": outcome}, lines={"test_a.py::new": [5]}, minutes=-5)
    assert store.rows(COVERAGE) == [("paper", True, 1, 2, 0.5), ("swt_bench", True, 1, 2, 0.5)]


def test_what_is_not_traced_has_no_coverage(store: SqlStore) -> None:
    store.instance("i", added=[5])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    store.judged("i", "m", {"test_a.py::new": "- - failed passed"})
    assert store.rows(COVERAGE) == [("paper", False, None, None, None), ("swt_bench", False, None, None, None)]


def test_what_does_not_apply_covers_nothing(store: SqlStore) -> None:
    store.instance("i", added=[5])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    store.candidate("i", "m", reason="empty")
    assert store.rows(COVERAGE) == [("paper", True, 0, 1, 0.0), ("swt_bench", True, 0, 1, 0.0)]


def test_lines_come_from_the_traced_run_and_outcomes_from_the_untraced(store: SqlStore) -> None:
    store.instance("i", added=[5])
    golden_runs(store, {}, {"test_g.py::g": [5]})
    candidate(store, {}, {"test_a.py::new": [5]})
    for state in ("before", "after"):
        store.run("i", "i-m", state, {"test_a.py::new": "passed"}, minutes=1)
    assert store.rows(COVERAGE)[0] == ("paper", True, 1, 1, 1.0)
    assert store.value("SELECT solved FROM paper") is False
