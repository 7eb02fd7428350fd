"""Two sandboxes that should agree: hand-written rows in, exact tuples out."""

from __future__ import annotations

from sql_store import SqlStore

COLUMNS = "code_state, case_id, sandbox_a, outcome_a, sandbox_b, outcome_b"
QUESTION = f"SELECT {COLUMNS} FROM sandbox_difference ORDER BY ALL"


def test_equal_sandboxes_give_nothing(store: SqlStore) -> None:
    store.instance("i")
    for sandbox in ("bubblewrap", "docker", "process"):
        for suite in (None, "i-golden"):
            store.run("i", suite, "before", {"test_a.py::a": "passed", "test_a.py::b": "failed"}, sandbox=sandbox)
    assert store.rows(QUESTION) == []


def test_every_case_that_differs_or_is_missing(store: SqlStore) -> None:
    store.instance("i")
    store.run("i", "i-golden", "after", {"a": "passed", "b": "failed", "c": "skipped"}, sandbox="docker")
    store.run("i", "i-golden", "after", {"a": "passed", "b": "passed", "d": "error"}, sandbox="bubblewrap")
    assert store.rows(QUESTION) == [
        ("after", "b", "bubblewrap", "passed", "docker", "failed"),
        ("after", "c", "bubblewrap", "missing", "docker", "skipped"),
        ("after", "d", "bubblewrap", "error", "docker", "missing"),
    ]


def test_runs_that_end_differently_differ_even_without_a_case(store: SqlStore) -> None:
    store.instance("i")
    store.run("i", "i-golden", "before", {}, sandbox="bubblewrap")
    store.run("i", "i-golden", "before", {}, sandbox="docker", status="timeout")
    assert store.rows(QUESTION) == [("before", None, "bubblewrap", "completed", "docker", "timeout")]


def test_only_like_is_compared_with_like(store: SqlStore) -> None:
    store.instance("i")
    store.run("i", "i-golden", "before", {"a": "passed"}, sandbox="bubblewrap")
    store.run("i", "i-golden", "after", {"a": "failed"}, sandbox="docker")
    store.run("i", None, "before", {"a": "failed"}, sandbox="docker")
    store.run("i", "i-golden", "before", {"a": "failed"}, sandbox="docker", env_id="other")
    store.run("i", "i-golden", "before", {}, sandbox="docker", status="infrastructure")
    assert store.rows(QUESTION) == []
