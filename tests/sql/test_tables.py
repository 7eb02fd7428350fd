"""Tables, overlaps and comparisons: hand-written rows in, exact tuples out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sql_store import SQL, START, SqlStore, questions

from tasks.adapters.store.views.sql_files import WITH_WITHDRAWN

SOLVED = {"test_a.py::new": "- - failed passed"}
FAILED = {"test_a.py::new": "- - failed failed"}
LITE = {"statement_words": 60, "patch_files": 1}
PASSES = {"test_a.py::new": "- - passed passed"}


@pytest.fixture
def four(store: SqlStore) -> SqlStore:
    """Four instances a to d; `one` solves a and b, `two` b and c, `three` has one candidate without runs."""
    for name in "abcd":
        store.instance(name)
    for name, cells in (("a", SOLVED), ("b", SOLVED), ("c", FAILED)):
        store.judged(name, "one", cells, model="x")
    store.candidate("d", "one", model="x", reason="does-not-apply")
    for name, cells in (("b", SOLVED), ("c", SOLVED), ("d", PASSES)):
        store.judged(name, "two", cells)
    store.candidate("a", "three", suite=store.suite("a", "three"))
    return store


def test_table2(four: SqlStore) -> None:
    columns = "method, model, n, unmeasured, W, S, F_X, F_P, P_P, S_low, S_high, solved"
    assert four.rows(f"SELECT {columns} FROM table2 ORDER BY method") == [
        ("one", "x", 4, 0, 75.0, 50.0, 75.0, 50.0, 0.0, 15.0, 85.0, 2),
        ("three", None, 3, 1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 56.1, 0),
        ("two", None, 4, 0, 75.0, 50.0, 50.0, 50.0, 25.0, 15.0, 85.0, 2),
    ]


def test_tables_count_one_candidate_each(store: SqlStore) -> None:
    store.instance("a")
    store.judged("a", "m", SOLVED)
    store.judged("a", "m", FAILED, sample=1)
    later = START + timedelta(days=1)
    known = {"snapshot": "s", "instance_id": "a", "instance_key": "a", "method": "m", "created_at": later}
    store.add("candidate", candidate_id="duplicate", problem="duplicate", **known)
    assert store.rows("SELECT n, S FROM table2") == [(1, 100.0)]
    store.add("candidate", candidate_id="again", **known)
    store.submission("again", "a", suite=None)
    assert store.rows("SELECT n, S FROM table2") == [(1, 0.0)]


def test_controls_count_under_the_policy_that_they_have(store: SqlStore) -> None:
    store.instance("a")
    for method in ("golden", "m"):
        store.judged("a", method, SOLVED, policy="as-submitted")
    assert store.rows("SELECT method, n, unmeasured FROM table2 ORDER BY ALL") == [("golden", 1, 0), ("m", 0, 1)]
    assert store.rows("SELECT method, S FROM table2_by('swt_bench', 'as-submitted') ORDER BY ALL") == [
        ("golden", 100.0),
        ("m", 100.0),
    ]


def test_table2_among_divides_by_the_instances_asked_for(store: SqlStore) -> None:
    for name in "abcd":
        store.instance(name)
    store.judged("a", "m", SOLVED)
    store.judged("b", "m", FAILED)
    store.judged("d", "other", SOLVED)
    asked = "SELECT method, n, solved, S FROM table2_among('paper', 'tests-only', {}) ORDER BY ALL"
    assert store.rows(asked.format("['a', 'c']")) == [("m", 2, 1, 50.0)]
    whole = [("m", 4, 1, 25.0), ("other", 4, 1, 25.0)]
    assert store.rows(asked.format("NULL")) == whole
    assert store.rows("SELECT method, n, solved, S FROM table2 ORDER BY ALL") == whole


def test_table3(store: SqlStore) -> None:
    for name in "abcd":
        store.instance(name, added=[] if name == "c" else [5, 6])
        for state in ("before", "after"):
            lines = {"test_g.py::g": [5, 6]}
            store.run(name, f"{name}-golden", state, {"test_g.py::g": "passed"}, lines=lines, executable=[5, 6])
        store.candidate(name, "golden", suite=f"{name}-golden")
    for name, hit, after in (("a", [5], "passed"), ("b", [5, 6], "failed"), ("c", [5], "failed")):
        suite = store.suite(name, "m")
        for state, outcome in (("before", "failed"), ("after", after)):
            store.run(name, suite, state, {"test_a.py::new": outcome}, lines={"test_a.py::new": hit})
        store.candidate(name, "m", suite=suite)
    columns = "dc_all, dc_solved, dc_unsolved, n_all, n_solved, n_unsolved, excluded, unmeasured"
    assert store.rows(f"SELECT definition, {columns} FROM table3 WHERE method = 'm'") == [
        (definition, 50.0, 50.0, 50.0, 3, 1, 2, 1, 0) for definition in ("paper", "swt_bench")
    ]
    test = store.one("SELECT * EXCLUDE (p) FROM delta_c_difference('s', 'golden', 'm', 'paper')")
    assert test[:2] == (3, 100.0)


def test_the_bootstrap_is_deterministic(store: SqlStore) -> None:
    for number in range(12):
        name = f"i{number}"
        store.instance(name, added=[5, 6])
        store.run(name, f"{name}-golden", "before", {}, lines={"g": [5, 6]})
        store.run(name, f"{name}-golden", "after", {}, lines={"g": [5, 6]})
        for method, hit in (("good", [5, 6] if number % 3 else [5]), ("bad", [5] if number % 4 else [])):
            suite = store.suite(name, method)
            for state in ("before", "after"):
                store.run(name, suite, state, {"test_a.py::new": "passed"}, lines={"test_a.py::new": hit})
            store.candidate(name, method, suite=suite)
    call = "FROM delta_c_difference('s', 'good', 'bad', 'paper')"
    instances, good, bad, difference, low, high, p = store.one(call)
    assert (instances, good, bad, difference) == (12, 83.3, 37.5, 45.8)
    assert 20 < low < difference < high < 65
    assert p < 0.01
    assert store.one(call) == (instances, good, bad, difference, low, high, p)


def test_method_overlap(four: SqlStore) -> None:
    assert four.rows("SELECT methods, exactly, by_any, by_all FROM method_overlap WHERE NOT 'three' IN methods") == [
        (["one (x)"], 1, 2, 2),
        (["two"], 1, 2, 2),
        (["one (x)", "two"], 1, 3, 1),
    ]
    assert four.value("SELECT count(*) FROM method_overlap") == 7


def test_mcnemar(four: SqlStore) -> None:
    assert four.rows("SELECT * EXCLUDE (snapshot, only_a_robust, only_b_robust, p_robust) FROM mcnemar") == [
        ("one (x)", "three", 3, 0, 1, 0, 2, 1.0),
        ("one (x)", "two", 4, 1, 1, 1, 1, 1.0),
        ("three", "two", 3, 0, 0, 2, 1, 0.5),
    ]


def test_pass_at_k(store: SqlStore) -> None:
    for name in "abc":
        store.instance(name)
    for sample, cells in enumerate((SOLVED, FAILED, SOLVED)):
        store.judged("a", "m", cells, sample=sample)
    store.judged("b", "m", FAILED)
    found = store.rows("SELECT k, n, unmeasured, pass_at_k, \"any\" FROM pass_at_k WHERE grader = 'paper'")
    assert found == [(1, 3, 0, 22.2, 33.3), (2, 2, 1, 50.0, 50.0), (3, 2, 1, 50.0, 50.0)]


def test_grader_disagreement(store: SqlStore) -> None:
    store.instance("a")
    store.judged("a", "m", SOLVED | {"test_a.py::bad": "- - skipped skipped"})
    assert store.rows(
        "SELECT grader_a, grader_b, solved_a, solved_b, reason FROM grader_disagreement ORDER BY ALL"
    ) == [
        ("paper", "swt_bench_2024", True, False, "new-fail-to-fail"),
        ("swt_bench", "swt_bench_2024", True, False, "new-fail-to-fail"),
    ]


LABELS = {
    "a::t1": "test_y (app.tests.Case)\nIt works.",
    "a::t2": "tests/test_a.py::test_p[a b]",
    "a::t3": "test_sympy",
    "a::t4": "tests/test_a.py::test_q[/tmp/x/file]",
    "a::t5": "test_z (app.tests.Case)",
}


@pytest.mark.parametrize(
    ("f2p", "p2p", "expected"),
    [
        (["It works."], ["test_sympy"], (True, True, False, True, [], [])),
        (["test_y (app.tests.Case)"], [], (True, True, False, True, [], [])),
        (["test_y (app.tests.Case.test_y)"], [], (True, True, False, True, [], [])),
        (["tests/test_a.py::test_p[a"], ["tests/test_a.py::test_q[/file]"], (True, True, False, True, [], [])),
        (["It works.", "tests/test_a.py::test_p[a b]"], ["gone"], (True, False, True, True, [], ["gone"])),
        (
            ["test_sympy"],
            ["test_z (app.tests.Case)"],
            (False, False, False, True, ["test_sympy"], ["test_z (app.tests.Case)"]),
        ),
        ([], None, (True, None, False, True, [], None)),
    ],
)
def test_instance_reference(store: SqlStore, f2p: list[str], p2p: list[str] | None, expected: tuple[object]) -> None:
    store.instance("i", FAIL_TO_PASS=f2p, PASS_TO_PASS=p2p)
    before = {"a::t1": "failed", "a::t3": "passed", "a::t4": "passed", "a::t5": "passed"}
    after = before | {"a::t1": "passed", "a::t2": "passed", "a::t5": "failed"}
    store.run("i", "i-golden", "before", before, labels=LABELS)
    store.run("i", "i-golden", "after", after, labels=LABELS)
    columns = "f2p_ok, p2p_ok, f2p_exact, measured, f2p_misses, p2p_misses"
    assert store.one(f"SELECT {columns} FROM instance_reference") == expected


def test_a_name_that_the_log_of_a_failure_swallowed_is_an_artefact_and_no_miss(store: SqlStore) -> None:
    store.instance("i", FAIL_TO_PASS=["test_a (app.tests.Case)", "test_b (app.tests.Case)", "test_c (app.tests.Case)"])
    labels = {f"a::{name}": f"test_{name} (app.tests.Case)" for name in "abc"}
    before = {"a::a": "failed", "a::b": "passed", "a::c": "passed"}
    store.run("i", "i-golden", "before", before, labels=labels)
    store.run("i", "i-golden", "after", dict.fromkeys(before, "passed"), labels=labels)
    found = store.one("SELECT f2p_ok, f2p_exact, f2p_misses, f2p_artefacts FROM instance_reference")
    assert found == (False, False, ["test_c (app.tests.Case)"], ["test_b (app.tests.Case)"])


def test_progress_marks_that_a_log_parser_took_for_tests_are_artefacts_and_no_misses(store: SqlStore) -> None:
    named = ["[100%]", "[", "tests/test_a.py::test_q[100%]", "[gone]"]
    store.instance("i", FAIL_TO_PASS=["[100%]", "a::t1"], PASS_TO_PASS=named)
    store.run("i", "i-golden", "before", {"a::t1": "failed"})
    store.run("i", "i-golden", "after", {"a::t1": "passed"})
    columns = "f2p_ok, f2p_exact, f2p_artefacts, p2p_ok, p2p_misses, p2p_artefacts"
    misses = ["[gone]", "tests/test_a.py::test_q[100%]"]
    expected = (True, False, ["[100%]"], False, misses, ["[", "[100%]"])
    assert store.one(f"SELECT {columns} FROM instance_reference") == expected


def test_a_case_that_never_began_has_the_name_that_it_has_elsewhere(store: SqlStore) -> None:
    store.instance("i", FAIL_TO_PASS=["It works."])
    store.run("i", "i-golden", "before", {"a::a": "error"}, labels={"a::a": ""})
    store.run("i", "i-golden", "after", {"a::a": "passed"}, labels={"a::a": "It works."})
    assert store.one("SELECT f2p_ok, f2p_exact FROM instance_reference") == (True, True)


def test_an_instance_without_golden_runs_is_unmeasured(store: SqlStore) -> None:
    store.instance("i", FAIL_TO_PASS=["a"])
    assert store.one("SELECT measured, f2p_ok, f2p_misses FROM instance_reference") == (False, None, None)


def test_golden_misses_say_why(store: SqlStore) -> None:
    for name in "abcde":
        store.instance(name)
    store.judged("a", "golden", SOLVED)
    store.judged("b", "golden", {"test_a.py::other": "- - failed skipped"})
    store.candidate("c", "golden", suite=store.suite("c", "golden"))
    store.candidate("d", "golden", suite=store.suite("d", "golden"))
    for hour, (env_id, cause, error) in enumerate(
        [(None, "build", "first"), (None, "not-compiled", "not-compiled: no _core\nlong log")]
    ):
        at = START + timedelta(hours=hour)
        store.add("environment_attempt", instance_key="c", env_id=env_id, cause=cause, error=error, tried_at=at)
    store.judged(
        "e", "golden", {**SOLVED, "test_a.py::other": "- - failed skipped", "test_a.py::one": "- - failed failed"}
    )
    found = store.rows("SELECT instance_id, reason, detail, skipped_only, run <> '', measured FROM golden_miss")
    assert found == [
        ("b", "no-fail-to-pass", "1 of 1 cases: skipped test_a.py::other", True, True, True),
        ("c", "no-environment", "not-compiled: no _core", False, False, False),
        ("d", "not-run", "", False, False, False),
        ("e", "fails-after", "1 of 3 cases: failed test_a.py::one", False, True, True),
    ]


def test_golden_tests_that_cannot_be_measured_are_no_verdict(store: SqlStore) -> None:
    """Neither the golden candidate nor any other candidate of such an instance counts."""
    for name in ("fine", "refused", "empty", "unapplied", "silent"):
        store.instance(name)
        store.candidate(name, "nop")
    store.judged("fine", "golden", SOLVED)
    store.candidate("refused", "golden", reason="does-not-apply")
    store.candidate("empty", "golden", suite="empty-golden")
    store.con.execute("UPDATE suite SET files = [] WHERE suite_id = 'empty-golden'")
    for name in ("unapplied", "silent"):
        store.candidate(name, "golden", suite=f"{name}-golden")
        store.run(name, f"{name}-golden", "before", {})
    store.run("unapplied", "unapplied-golden", "after", {}, status="golden-unapplied", detail="link: x leads out")
    store.run("silent", "silent-golden", "after", {}, detail="usage error")
    found = store.rows("SELECT instance_id, reason, detail FROM golden_unmeasured ORDER BY instance_id")
    assert found == [
        ("empty", "golden-empty", "the golden tests hold no file that a runner can collect"),
        ("refused", "golden-refused", "does-not-apply: "),
        ("silent", "golden-silent", "the golden test files gave no case on the fixed code: usage error"),
        ("unapplied", "golden-unapplied", "link: x leads out"),
    ]
    told = store.rows("SELECT instance_id, method, grader FROM verdict WHERE measured ORDER BY ALL")
    graders = ("paper", "swt_bench", "swt_bench_2024")
    assert told == [("fine", method, grader) for method in ("golden", "nop") for grader in graders]
    audit = "SELECT DISTINCT what, instance_id FROM audit_golden_unmeasured ORDER BY ALL"
    assert store.rows(audit) == [("silent", name) for name in ("empty", "refused", "silent", "unapplied")]
    for name in ("empty", "refused", "silent", "unapplied"):
        store.add("undone", subject=name, scope="s")
    assert store.rows(audit) == []


TABLES = ("table1", "table2", "table9", "provenance", "lite_instance", "verdict")


def answered(store: SqlStore) -> dict[str, int]:
    """Rows of each."""
    (row,) = store.rows("SELECT " + ", ".join(f"(SELECT count(*) FROM {name})" for name in TABLES))
    return dict(zip(TABLES, row, strict=True))


def test_what_was_withdrawn_is_in_no_table_unless_it_is_asked_for(four: SqlStore) -> None:
    four.add("llm_call", snapshot="s", instance_id="a", method="one", model="x", status="answered", cost_usd=1.0)
    four.add("instance_fact", instance_key="a", instance_id="a", **LITE)
    four.add("withdrawal", snapshot="s", reason="collected without a network")
    assert answered(four) == dict.fromkeys(TABLES, 0)
    four.con.execute(WITH_WITHDRAWN)
    try:
        assert all(answered(four).values())
    finally:
        four.con.execute("RESET VARIABLE withdrawn")


def test_an_instance_that_was_withdrawn_leaves_every_snapshot(four: SqlStore) -> None:
    four.add("withdrawal", snapshot="another month", instance_id="b", reason="its authors want it taken down")
    assert four.rows("SELECT method, n, solved FROM table2 WHERE method <> 'three' ORDER BY method") == [
        ("one", 3, 1),
        ("two", 3, 1),
    ]
    assert four.rows("SELECT DISTINCT health FROM instance_health WHERE instance_id = 'b'") == [("withdrawn",)]


def test_tables_are_made_of_what_is_left_when_the_withdrawn_is_out() -> None:
    """Health and state tell of withdrawals themselves; a window is asked about one snapshot by its name."""
    made_of_all = {
        question.name
        for question in questions()
        if (SQL / "tables" / f"{question.name}.sql").exists() or (SQL / "macros" / f"{question.name}.sql").exists()
        if {"task_instance", "candidate", "llm_call"} & set(question.needs)
    }
    assert made_of_all == {"decoy_count", "decoy_kind", "instance_health", "instance_window", "snapshot_state"}
