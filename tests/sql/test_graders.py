"""Outcomes to transitions to verdicts, against cases written by hand, and what holds for every candidate."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sql_store import CASES, START, SqlStore

from tasks.domain.outcome import Outcome

GRADERS = ("paper", "swt_bench", "swt_bench_2024")
FLAGS = {"W": "well_formed", "S": "solved", "FX": "fail_to_any", "FP": "fail_to_pass", "PP": "pass_to_pass"}
OUTCOMES = (*Outcome, "missing")
WORDS = {"P": "pass", "F": "fail", "N": "none", "M": "missing"}
VERDICT_CASES = tomllib.loads((CASES / "verdicts.toml").read_text())["case"]


def transitions() -> list[tuple[str, str, str, str]]:
    """(grader, before, after, transition) as the case file has them."""
    cells = []
    grader, columns = "", []
    for line in (CASES / "transitions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        first, *rest = line.split()
        if first in GRADERS:
            grader, columns = first, rest
        else:
            cells += [(grader, first, after, _transition(code)) for after, code in zip(columns, rest, strict=True)]
    return cells


def _transition(code: str) -> str:
    return "unmatched" if code == ".." else f"{WORDS[code[0]]}_to_{WORDS[code[1]]}"


@pytest.mark.parametrize("grader", GRADERS)
def test_every_pair_of_outcomes(store: SqlStore, grader: str) -> None:
    expected = sorted(cell for cell in transitions() if cell[0] == grader)
    assert len(expected) == len(OUTCOMES) ** 2
    found = store.rows(f"SELECT grader, before, after, transition FROM transition WHERE grader = '{grader}'")
    assert sorted(found) == expected


def verdict(store: SqlStore, grader: str) -> str:
    """`W S FX FP reason` of the only candidate."""
    *flags, reason = store.one(f"SELECT {', '.join(FLAGS.values())}, reason FROM {grader}")
    return " ".join([*(short for short, flag in zip(FLAGS, flags, strict=True) if flag), reason]).strip()


@pytest.mark.parametrize("case", VERDICT_CASES, ids=[case["name"] for case in VERDICT_CASES])
def test_a_candidate_and_its_verdicts(store: SqlStore, case: dict[str, Any]) -> None:
    store.instance("i")
    store.judged("i", "m", case["cells"], base=case.get("base", ()), edited=case.get("edited", ()))
    assert {grader: verdict(store, grader) for grader in GRADERS} == {grader: case[grader] for grader in GRADERS}


REFUSES = {"failed": "fails-after", "error": "fails-after", "timeout": "fails-after", "missing": "missing-after"}
"""Outcomes after the fix for which the grader `paper` refuses a suite, whatever else reproduces the issue."""


@pytest.mark.slow
@pytest.mark.parametrize("reproduces", [True, False])
def test_paper_on_every_pair_of_outcomes(store: SqlStore, reproduces: bool) -> None:
    """Each pair of outcomes as a case of T, alone or beside a case that reproduces the issue."""
    pairs = [(before, after) for before in OUTCOMES for after in OUTCOMES if (before, after) != ("missing",) * 2]
    for number, (before, after) in enumerate(pairs):
        store.instance(f"i{number}")
        cells = {"test_a.py::other": f"- - {before} {after}".replace("missing", "-")}
        if reproduces:
            cells["test_a.py::good"] = "- - failed passed"
        store.judged(f"i{number}", "m", cells)
    found = {
        name: (solved, reason) for name, solved, reason in store.rows("SELECT instance_id, solved, reason FROM paper")
    }
    for number, (before, after) in enumerate(pairs):
        fails_before = before in ("failed", "error", "timeout")
        why = REFUSES.get(after, "")
        if not reproduces and not why and not (fails_before and after == "passed"):
            why = "no-fail-to-pass" if fails_before else "passes-before"
        assert found[f"i{number}"] == (why == "", why), (before, after)


def test_what_does_not_apply_is_measured_and_fails_everywhere(store: SqlStore) -> None:
    store.instance("i")
    store.candidate("i", "m", reason="does-not-apply")
    columns = f"measured, {', '.join(FLAGS.values())}, reason"
    assert store.rows(f"SELECT grader, {columns} FROM verdict ORDER BY grader") == [
        (grader, True, False, False, False, False, False, "does-not-apply") for grader in GRADERS
    ]


def test_a_candidate_that_a_later_one_replaced_is_flagged_and_in_no_analysts_view(store: SqlStore) -> None:
    """Predictions handed in again under their name: tables count the later ones, and so do all views of verdicts."""
    store.instance("i")
    for minute, candidate_id in enumerate(("first", "second")):
        known = {"snapshot": "s", "instance_id": "i", "instance_key": "i", "method": "m"}
        store.add("candidate", candidate_id=candidate_id, created_at=START + timedelta(minutes=minute), **known)
        store.submission(candidate_id, "i", suite=None)
    for grader in GRADERS:
        assert sorted(store.rows(f"SELECT candidate_id, counted FROM {grader}")) == [("first", False), ("second", True)]
    for view in ("verdict", "robust_verdict"):
        assert {name for (name,) in store.rows(f"SELECT candidate_id FROM {view}")} == {"second"}


@pytest.mark.parametrize("gone", ["before", "after"])
@pytest.mark.parametrize("status", [None, "infrastructure"])
def test_without_a_run_there_is_no_verdict(store: SqlStore, gone: str, status: str | None) -> None:
    store.instance("i")
    suite = store.suite("i", "m")
    for state in ("before", "after"):
        if state != gone:
            store.run("i", suite, state, {"test_a.py::new": "passed"})
        elif status:
            store.run("i", suite, state, {"test_a.py::new": "failed"}, status=status)
    store.candidate("i", "m", suite=suite)
    reason = status or "not-run"
    assert store.rows(f"SELECT measured, {', '.join(FLAGS.values())}, reason FROM verdict") == [
        (False, None, None, None, None, None, reason)
    ] * len(GRADERS)


def test_without_the_runs_of_suite_none_there_is_no_verdict(store: SqlStore) -> None:
    store.instance("i")
    suite = store.suite("i", "m", base_files=["test_a.py"])
    for state, outcome in (("before", "failed"), ("after", "passed")):
        store.run("i", suite, state, {"test_a.py::new": outcome})
    store.candidate("i", "m", suite=suite)
    assert store.rows("SELECT DISTINCT measured, solved FROM verdict") == [(False, None)]
    assert store.rows("SELECT none_before, candidate_before, in_t FROM submission_case") == [(None, "failed", None)]


def test_runs_of_two_environments_are_not_mixed(store: SqlStore) -> None:
    store.instance("i")
    suite = store.suite("i", "m")
    store.run("i", suite, "before", {"test_a.py::new": "failed"}, env_id="old")
    store.run("i", suite, "after", {"test_a.py::new": "passed"}, env_id="old")
    store.run("i", suite, "before", {"test_a.py::new": "passed"}, env_id="new", minutes=9)
    store.candidate("i", "m", suite=suite)
    assert store.one("SELECT env_id, measured FROM submission_run") == ("old", True)
    assert store.value("SELECT solved FROM paper") is True
    store.run("i", suite, "after", {"test_a.py::new": "passed"}, env_id="new", minutes=9)
    assert store.one("SELECT env_id, measured FROM submission_run") == ("new", True)
    assert store.value("SELECT solved FROM paper") is False


def test_runs_of_two_runners_are_not_mixed(store: SqlStore) -> None:
    """A newer runner takes the word from an older one, also where it has not got as far yet."""
    store.instance("i")
    suites = {name: store.suite("i", name) for name in ("m", "other")}
    for name, suite in suites.items():
        store.candidate("i", name, suite=suite)
        for state, outcome in (("before", "failed"), ("after", "passed")):
            store.run("i", suite, state, {"test_a.py::new": outcome})
            store.run("i", suite, state, {"test_a.py::new": outcome}, variant="repeat")
    assert store.rows("SELECT DISTINCT solved FROM paper") == [(True,)]
    store.run("i", suites["m"], "before", {"test_a.py::new": "passed"}, runner_version="new", minutes=9)
    assert store.rows("SELECT solved, reason FROM paper") == [(None, "superseded")] * 2
    assert store.rows("FROM guard_run") == []
    store.run("i", suites["m"], "after", {"test_a.py::new": "passed"}, runner_version="new", minutes=9)
    store.run("i", suites["m"], "after", {}, runner_version="newest", minutes=10, status="infrastructure")
    assert store.rows("SELECT method, solved, reason FROM paper ORDER BY ALL") == [
        ("m", False, "passes-before"),
        ("other", None, "superseded"),
    ]


def test_an_untraced_run_confirms_a_traced_one(store: SqlStore) -> None:
    store.instance("i")
    suite = store.suite("i", "m")
    store.run("i", suite, "before", {"test_a.py::new": "failed"})
    store.run("i", suite, "after", {"test_a.py::new": "passed", "test_a.py::lost": "passed"}, minutes=1)
    for state in ("before", "after"):
        store.run("i", suite, state, {"test_a.py::new": "failed"}, tracer="probe", minutes=5)
    store.candidate("i", "m", suite=suite)
    assert store.rows("SELECT tracer, traced_run_key FROM settled_run ORDER BY run_key") == [
        ("none", "run2"),
        ("none", "run3"),
    ]
    assert store.rows("SELECT run_key FROM traced_run ORDER BY ALL") == [("run2",), ("run3",)]
    assert store.rows("SELECT code_state, case_id, traced, untraced FROM tracing_difference ORDER BY case_id") == [
        ("after", "test_a.py::lost", "missing", "passed"),
        ("after", "test_a.py::new", "failed", "passed"),
    ]


def test_the_last_run_settles_and_ours_that_failed_never_do(store: SqlStore) -> None:
    store.instance("i")
    for minutes, status in ((1, "completed"), (2, "crashed"), (3, "infrastructure")):
        store.run("i", "i-golden", "before", {}, minutes=minutes, status=status)
    assert store.rows("SELECT run_key, status FROM settled_run") == [("run1", "crashed")]


def test_effective_outcomes_stand_beside_the_recorded_ones(store: SqlStore) -> None:
    store.instance("i")
    cells = {"test_a.py": "- - error -", "test_a.py::old": "passed passed - passed", "test_a.py::new": "- - - passed"}
    store.judged("i", "m", cells, base=["test_a.py"])
    assert store.rows("""
        SELECT case_id, none_before, candidate_before, raw_none_before, raw_candidate_before, in_t, t_reason
        FROM submission_case ORDER BY case_id
    """) == [
        ("test_a.py", "missing", "error", None, "error", False, ""),
        ("test_a.py::new", "missing", "error", None, None, True, "added"),
        ("test_a.py::old", "passed", "error", "passed", None, False, ""),
    ]


def test_sympy_prints_nothing_for_a_skipped_case(store: SqlStore) -> None:
    store.instance("i")
    store.add("environment", env_id="env", runner="sympy")
    store.judged("i", "m", {"test_a.py::new": "- - failed passed", "test_a.py::slow": "- - skipped skipped"})
    assert store.value("SELECT solved FROM swt_bench_2024") is True


def test_one_candidate_in_two_snapshots_has_a_verdict_in_each(store: SqlStore) -> None:
    store.instance("i")
    store.judged("i", "m", {"test_a.py::new": "- - failed passed"})
    store.add("candidate", candidate_id="i-m", snapshot="t", instance_id="i", instance_key="i", method="m")
    assert store.rows("SELECT snapshot, solved FROM paper ORDER BY ALL") == [("s", True), ("t", True)]


cell = st.sampled_from([*Outcome, "-"])
case_cells = st.dictionaries(
    st.sampled_from(["test_a.py", "test_a.py::one", "test_a.py::two", "test_a.py::three"]),
    st.tuples(cell, cell, cell, cell).map(" ".join),
    max_size=4,
)


one_candidate = st.tuples(case_cells, st.sets(st.sampled_from(["one", "two"])), st.booleans())
INCOHERENT = """
    SELECT candidate_id FROM verdict WHERE measured = (solved IS NULL)
    UNION ALL SELECT candidate_id FROM audit_verdict_incoherent
    UNION ALL SELECT candidate_id FROM audit_solved_without_cases
"""


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(candidates=st.lists(one_candidate, min_size=6, max_size=12))
def test_graders_are_total_and_coherent(
    store: SqlStore, candidates: list[tuple[dict[str, str], set[str], bool]]
) -> None:
    store.clear()
    for number, (cells, edited, lost) in enumerate(candidates):
        name = f"i{number}"
        store.instance(name)
        store.judged(name, "m", cells, base=["test_a.py"], edited=edited)
        if lost:
            store.con.execute(
                f"UPDATE run SET status = 'infrastructure' WHERE instance_id = '{name}' AND suite_id <> ''"
            )
    verdicts = store.rows("SELECT instance_id, grader, measured FROM verdict ORDER BY ALL")
    measured = [(f"i{number}", not lost) for number, (_, _, lost) in enumerate(candidates)]
    assert verdicts == sorted((name, grader, known) for name, known in measured for grader in GRADERS)
    assert store.rows(INCOHERENT) == []
