"""Runs belong to every instance that asked for them, whichever instance made them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sql_store import SqlStore

CASE = "test_a.py::new"
OWN_NAMES = "INSERT INTO requested_run BY NAME FROM run"
"""The join by the instance that made a run, which left the second of two instances unmeasured."""


@pytest.fixture
def two(store: SqlStore) -> SqlStore:
    """Instances `a` and `b` with the same code before their fixes: `b` asks for the run on `before` that `a` made."""
    for name in ("a", "b"):
        store.instance(name)
        store.suite(name, "m")
        store.candidate(name, "m", suite=f"{name}-m")
    shared = store.run("a", "a-m", "before", {CASE: "failed"})
    for name in ("a", "b"):
        after = store.run(name, f"{name}-m", "after", {CASE: "passed"})
        for state, key in (("before", shared), ("after", after)):
            store.request(key, name, f"{name}-m", state)
    return store


def test_a_run_that_another_instance_made_is_measured(two: SqlStore) -> None:
    assert two.rows("SELECT instance_id, measured, solved FROM paper ORDER BY ALL") == [
        ("a", True, True),
        ("b", True, True),
    ]
    assert two.rows("FROM audit_request_not_joined") == []
    assert two.rows("FROM audit_request_unanswered") == []


@pytest.fixture
def by_own_names(two: SqlStore) -> Iterator[SqlStore]:
    """The same store with the old join; other tests use the connection too."""
    with two.replaced("requested_run"):
        two.con.execute(OWN_NAMES)
        yield two


def test_a_stored_run_that_is_not_joined_is_found(by_own_names: SqlStore) -> None:
    two = by_own_names
    assert two.rows("SELECT instance_id, measured FROM paper ORDER BY ALL") == [("a", True), ("b", False)]
    assert two.rows("SELECT what, instance_key, run_key, detail FROM audit_request_not_joined ORDER BY ALL") == [
        ("current_run", "b", "run0", ""),
        ("submission_run", "b", "", "b-m tests-only"),
    ]


def test_a_request_without_a_run_is_found_unless_it_is_incomplete(two: SqlStore) -> None:
    """A later request for the same that is answered takes its place."""
    missing = "SELECT instance_key, run_key FROM audit_request_unanswered"
    two.request("gone", "b", "b-m", "after", requested_at="2026-11-02T00:00:00+00:00")
    assert two.rows(missing) == [("b", "gone")]
    told = {"flow_run": "f", "story": "evaluate", "round": "runs", "scope": "s", "subject": "b"}
    two.add("undone", **told, at="2026-11-03T00:00:00+00:00")
    assert two.rows(missing) == []
    two.con.execute("DELETE FROM undone")
    two.request("run2", "b", "b-m", "after", requested_at="2026-11-03T00:00:00+00:00")
    assert two.rows(missing) == []
    two.con.execute("UPDATE run SET status = 'infrastructure' WHERE run_key = 'run2'")
    assert len(two.rows(missing)) == 3


def test_a_newer_runner_replaces_the_runs_of_the_instance_that_used_it_alone(two: SqlStore) -> None:
    two.con.execute("UPDATE run SET runner_version = 'old'")
    two.run("a", "a-golden", "before", {}, runner_version="new", minutes=9)
    assert two.rows("SELECT instance_id, measured, reason FROM paper ORDER BY ALL") == [
        ("a", False, "superseded"),
        ("b", True, ""),
    ]
    assert two.rows("FROM audit_request_not_joined") == []


def test_a_run_may_be_two_things_to_one_instance(two: SqlStore) -> None:
    """A proposed fix that equals the golden patch: the run of the suite on it is the plain run on `after`."""
    two.add("proposed_fix", fix_id="f", instance_key="a", instance_id="a", patch="diff")
    two.add("fix_run", fix_id="f", instance_key="a", instance_id="a", suite_id="a-m", run_key="run1")
    two.request("run1", "a", "a-m", "before", variant="proposed")
    two.con.execute("UPDATE run SET variant = 'proposed', code_state = 'before' WHERE run_key = 'run1'")
    assert two.rows("SELECT instance_id, solved FROM paper WHERE instance_id = 'a'") == [("a", True)]
    assert two.rows("SELECT fix_id, run_key FROM fix_suite_run") == [("f", "run1")]
    assert two.rows("FROM audit_two_settled_runs") == []
