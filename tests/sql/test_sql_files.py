"""The files of sql/ as files: named, described, listed; and audits that find what they are for."""

from __future__ import annotations

import re

import pytest
from sql_store import SQL, SqlStore, questions


def test_the_readme_lists_every_file() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (SQL / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(question.name for question in questions())


def test_every_file_says_what_it_answers() -> None:
    for question in questions():
        assert question.description.endswith((".", "?")), question.path


def test_an_empty_store_has_nothing_to_report(store: SqlStore) -> None:
    for question in questions():
        if question.kind == "audits":
            assert store.rows(f"FROM {question.name}") == [], question.name


def test_audits_find_what_they_are_for(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "golden", {"test_a.py::new": "- - failed failed"})
    store.judged("i", "nop", {"test_a.py::new": "- - failed passed"})
    key = store.run("i", None, "before", {}, cases=3)
    store.add("case_outcome", run_key="run0", case_id="test_a.py::new", outcome="skipped")
    store.submission("nobody", "i", suite="i-nop")
    assert store.rows("SELECT DISTINCT grader FROM audit_golden_not_solved ORDER BY ALL") == [
        ("paper",),
        ("swt_bench",),
    ]
    assert len(store.rows("FROM audit_nop_solved")) == 3
    assert store.rows("SELECT run_key FROM audit_run_without_cases") == [(key,)]
    assert store.rows("SELECT run_key FROM audit_run_case_count ORDER BY ALL") == [("run0",), (key,)]
    assert store.rows("FROM audit_two_outcomes") == [("run0", "test_a.py::new", ["failed", "skipped"])]
    assert store.rows("FROM audit_orphan") == [("submission.candidate_id", "nobody")]


CONTRADICTIONS = [
    ("completed", 0, "passed", ""),
    ("completed", 0, "failed", "fine"),
    ("completed", 0, "error", "fine"),
    ("completed", 1, "passed", "failed"),
    ("completed", 1, "xpassed", ""),
    ("completed", 1, "failed", ""),
    ("completed", 2, "passed", "cut-off"),
    ("completed", 3, "passed", "cut-off"),
    ("completed", 3, "error", ""),
    ("completed", 5, "skipped", ""),
    ("crashed", None, "passed", "cut-off"),
    ("crashed", 0, "passed", "cut-off"),
    ("crashed", 0, "error", ""),
    ("timeout", None, "timeout", ""),
    ("limit", None, "passed", "cut-off"),
    ("infrastructure", 3, "passed", ""),
]


@pytest.mark.parametrize(("status", "code", "outcome", "why"), CONTRADICTIONS)
def test_an_exit_code_that_the_outcomes_contradict(
    store: SqlStore, status: str, code: int | None, outcome: str, why: str
) -> None:
    """Exit code 3 with nothing but passes is how a case without its call report was stored once."""
    cells = {"test_a.py::one": "passed", "test_a.py::two": outcome}
    store.run("i", None, "before", cells, status=status, exit_code=code)
    assert store.rows("SELECT why FROM audit_exit_code") == ([(why,)] if why else [])


def test_older_command_lines_can_open_what_newer_ones_wrote() -> None:
    """DuckDB 2 stores `if(…)` in a view as a function that DuckDB 1.5 does not have: CASE is understood by both."""
    assert [question.path for question in questions() if re.search(r"\bif\(", question.path.read_text())] == []
