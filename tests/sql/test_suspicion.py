"""What audits note: the worst finding of each candidate, scores with and without, and where candidates come from."""

from __future__ import annotations

import pytest
from sql_store import SqlStore

SOLVED = {"test_a.py::new": "- - failed passed"}
FAILED = {"test_a.py::new": "- - failed failed"}


@pytest.fixture
def four(store: SqlStore) -> SqlStore:
    """`m` solves a, b and c, and fails d."""
    for name in "abcd":
        store.instance(name)
        store.judged(name, "m", FAILED if name == "d" else SOLVED, provenance="verified", source="m")
    return store


def finding(store: SqlStore, suite: str, rule: str, line: int = 1) -> None:
    store.add("lint_finding", suite_id=suite, path="test_a.py", line=line, rule=rule, detail="code()")


def look(store: SqlStore, candidate: str, rule: str) -> None:
    store.add("trajectory_audit", candidate_id=candidate, step=4, rule=rule, detail="git log --all")


def test_the_worst_findings_are_named(four: SqlStore) -> None:
    for rule in ("own-place", "coin", "clock"):
        finding(four, "a-m", rule)
    finding(four, "b-m", "own-place", 7)
    finding(four, "c-m", "a-rule-without-a-cost")
    assert four.rows("SELECT candidate_id, cost, rules, why FROM submission_lint ORDER BY ALL") == [
        ("a-m", "suspect", ["clock", "coin"], "test_a.py:1: code()"),
        ("b-m", "note", ["own-place"], "test_a.py:7: code()"),
        ("c-m", "suspect", ["a-rule-without-a-cost"], "test_a.py:1: code()"),
    ]


def test_findings_in_golden_tests_are_left_out(store: SqlStore) -> None:
    store.instance("a")
    store.candidate("a", "golden", suite="a-golden")
    finding(store, "a-golden", "git-command")
    assert store.rows("FROM submission_lint") == []


def test_a_finding_decides_no_verdict(four: SqlStore) -> None:
    """Runs decide whether a success is robust; a finding is a note for a reader."""
    finding(four, "a-m", "process-exit")
    assert four.rows("SELECT DISTINCT cost FROM lint_policy ORDER BY cost") == [("note",), ("suspect",)]
    assert four.rows("SELECT guard FROM guard_result WHERE guard = 'lint'") == []
    verdicts = "SELECT candidate_id, solved, failed_guards FROM robust_verdict WHERE grader = 'paper' ORDER BY 1"
    assert four.rows(verdicts)[:2] == [("a-m", True, []), ("b-m", True, [])]


def test_scores_with_and_without_the_suspected(four: SqlStore) -> None:
    finding(four, "a-m", "coin")
    finding(four, "b-m", "own-place")
    look(four, "b-m", "all-history")
    look(four, "c-m", "other-place")
    look(four, "d-m", "fetch")
    assert four.rows("SELECT candidate_id, reasons, why FROM suspected_candidate ORDER BY 1") == [
        ("a-m", ["lint:coin"], "test_a.py:1: code()"),
        ("b-m", ["trajectory:all-history"], "step 4: git log --all"),
        ("d-m", ["trajectory:fetch"], "step 4: git log --all"),
    ]
    for number, trajectory in enumerate(("0" * 64, None)):
        four.add("generation", generation_id=str(number), candidate_id=f"{'ab'[number]}-m", trajectory=trajectory)
    assert four.rows("SELECT method, n, audited, suspected, S, S_without_suspects FROM suspicion_count") == [
        ("m", 4, 1, 3, 75.0, 25.0)
    ]
    assert four.rows("SELECT method, instance_id, sample, solved, reasons FROM suspects") == [
        ("m", "a", 0, True, ["lint:coin"]),
        ("m", "b", 0, True, ["trajectory:all-history"]),
        ("m", "d", 0, False, ["trajectory:fetch"]),
    ]


def test_a_method_that_is_suspected_throughout_has_no_success_without(store: SqlStore) -> None:
    store.instance("a")
    store.judged("a", "m", SOLVED)
    look(store, "a-m", "told-the-fix")
    assert store.rows("SELECT S, S_robust, S_without_suspects FROM suspicion_count") == [(100.0, None, 0.0)]


def test_where_candidates_come_from(four: SqlStore) -> None:
    four.candidate("a", "golden", suite="a-golden", provenance="oracle", source="golden")
    four.judged("a", "p", SOLVED, provenance="self_reported", source="preds.jsonl:3")
    four.judged("b", "p", FAILED, provenance="self_reported", source="preds.jsonl:4")
    columns = "method, provenance, candidates, solved, sources"
    assert four.rows(f"SELECT {columns} FROM provenance ORDER BY method") == [
        ("golden", "oracle", 1, 0, ["golden"]),
        ("m", "verified", 4, 3, ["m"]),
        ("p", "self_reported", 2, 1, ["preds.jsonl"]),
    ]


def test_tables_say_where_the_candidates_of_a_method_come_from(store: SqlStore) -> None:
    for name in "ab":
        store.instance(name)
    store.judged("a", "m", SOLVED, provenance="verified")
    store.judged("b", "m", SOLVED, provenance="self_reported")
    store.judged("a", "n", SOLVED, provenance="verified")
    for table in ("table2", "table3", "suspicion_count"):
        assert store.rows(f"SELECT DISTINCT method, provenance FROM {table} ORDER BY ALL") == [
            ("m", "self_reported+verified"),
            ("n", "verified"),
        ]


def test_every_rule_of_the_trajectory_audit_has_a_cost(store: SqlStore) -> None:
    from tasks.methods.trajectory_audit import RULES

    assert {name for name, _ in RULES} == {rule for (rule,) in store.rows("SELECT rule FROM trajectory_policy")}
