from __future__ import annotations

import pytest
from observed_runs import run, runs

from tasks.domain.names import CaseId, EnvId, InstanceKey
from tasks.domain.outcome import RunStatus
from tasks.domain.validation import InvalidReason
from tasks.validate.judge import Observed, SeenCase, case_rows
from tasks.validate.verdict import Evidence, GoldenMiss, finding, quarantined


def evidence(seen: list[Observed], golden: GoldenMiss | None = None, infrastructure: tuple[str, ...] = ()) -> Evidence:
    names = sorted({case for one in seen for case in one.outcomes})
    cases = [SeenCase(case_id=CaseId(name), path="t.py", label=name) for name in names]  # type: ignore[arg-type]
    rows = case_rows(InstanceKey("k"), EnvId("e"), cases, seen)
    return Evidence(runs=seen, cases=rows, golden=golden, infrastructure=infrastructure)


CASES = {
    "valid": ("before plain F P\nafter plain P P", "", InvalidReason.NONE),
    "valid beside a flaky case": ("before plain F P\nafter plain P P\nafter rerun P F", "", InvalidReason.NONE),
    "nothing turns": ("before plain P\nafter plain P", "passes-before", InvalidReason.NO_F2P),
    "its only F2P is flaky": ("before plain F\nafter plain P\nafter rerun F", "", InvalidReason.FLAKY),
    "its only F2P depends on the order": ("before plain F\nafter plain P\nafter reordered F", "", InvalidReason.FLAKY),
    "another golden case fails after": ("before plain F F\nafter plain P F", "fails-after", InvalidReason.GOLDEN_FAILS),
    "another golden case is skipped": (
        "before plain F S\nafter plain P S",
        "",
        InvalidReason.NONE,
    ),
    "another golden case vanishes": ("before plain F F\nafter plain P -", "missing-after", InvalidReason.GOLDEN_FAILS),
    "only with a network": (
        "before plain F\nafter plain F\nafter online P",
        "fails-after",
        InvalidReason.NEEDS_NETWORK,
    ),
    "nothing can be imported": ("before plain E\nafter plain E", "no-fail-to-pass", InvalidReason.RUNTIME_ERROR),
    "only today": ("before plain F\nafter plain P\nafter later F", "", InvalidReason.TIME_BOMB),
}


@pytest.mark.parametrize(("text", "golden", "reason"), CASES.values(), ids=CASES)
def test_the_reason(text: str, golden: str, reason: InvalidReason) -> None:
    found = finding(evidence(runs(text), GoldenMiss(reason=golden) if golden else None))

    assert found.reason is reason
    assert found.valid is (reason is InvalidReason.NONE)


MISSED = {
    "a case that flips": ("before plain F F\nafter plain P F\nafter rerun P P", ("b",), InvalidReason.FLAKY),
    "one that flips and one that fails": (
        "before plain F F F\nafter plain P F F\nafter rerun P P F",
        ("b", "c"),
        InvalidReason.GOLDEN_FAILS,
    ),
    "one that needs a network": (
        "before plain F F\nafter plain P F\nafter online P P",
        ("b",),
        InvalidReason.NEEDS_NETWORK,
    ),
    "one of no run": ("before plain F\nafter plain P", ("b",), InvalidReason.GOLDEN_FAILS),
}


@pytest.mark.parametrize(("text", "failing", "reason"), MISSED.values(), ids=MISSED)
def test_golden_tests_that_fail_by_what_is_not_stable_say_so(
    text: str, failing: tuple[str, ...], reason: InvalidReason
) -> None:
    missed = GoldenMiss(reason="fails-after", detail="…", failing=tuple(map(CaseId, failing)))
    found = finding(evidence(runs(text), missed))
    assert found.reason is reason
    assert reason is InvalidReason.GOLDEN_FAILS or found.detail.endswith(": b")


SKIPPED = {
    "all that changed": ("before plain S P\nafter plain S P", InvalidReason.SKIPPED),
    "one beside a case that passes": ("before plain P S\nafter plain P S", InvalidReason.SKIPPED),
    "but one needs a network": ("before plain S\nafter plain S\nafter online P", InvalidReason.NEEDS_NETWORK),
}


@pytest.mark.parametrize(("text", "reason"), SKIPPED.values(), ids=SKIPPED)
def test_what_is_skipped_for_want_of_something_is_told_by_name(text: str, reason: InvalidReason) -> None:
    missed = GoldenMiss(reason="passes-before", detail="1 of 2 cases: skipped t.py::test_a", skipped_only=True)

    found = finding(evidence(runs(text), missed))

    assert found.reason is reason
    assert "t.py::test_a" in found.detail or reason is InvalidReason.NEEDS_NETWORK


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (RunStatus.TIMEOUT, InvalidReason.TIMEOUT),
        (RunStatus.CRASHED, InvalidReason.RUNTIME_ERROR),
        (RunStatus.LIMIT, InvalidReason.RUNTIME_ERROR),
        (RunStatus.UNAPPLIED, InvalidReason.GOLDEN_FAILS),
    ],
)
def test_a_golden_run_that_ends_early_on_the_fixed_code(status: RunStatus, reason: InvalidReason) -> None:
    seen = [run("before plain F"), run("after plain P"), run("after rerun -", status)]

    assert finding(evidence(seen)).reason is reason


def test_an_early_end_before_the_fix_may_be_what_the_issue_is_about() -> None:
    seen = [run("before plain -", RunStatus.CRASHED), run("after plain P")]

    assert finding(evidence(seen)).valid


def test_a_failure_of_ours_speaks_before_anything_else() -> None:
    found = finding(evidence(runs("before plain P\nafter plain P"), "passes-before", ("no space left",)))

    assert (found.reason, found.detail) == (InvalidReason.INFRASTRUCTURE, "no space left")


def test_only_unstable_cases_are_quarantined() -> None:
    rows = evidence(runs("before plain F P\nafter plain P P\nafter rerun P F")).cases

    assert [row.case_id for row in quarantined(rows)] == ["b"]


ALL_SKIPPED = {
    "a module whose import is not there": ("before plain S\nafter plain S\nafter rerun S", InvalidReason.SKIPPED),
    "one of two": ("before plain S P\nafter plain S P", InvalidReason.NO_TESTS),
    "a class that pytest does not take for one": ("before plain P\nafter plain P", InvalidReason.NO_TESTS),
}


@pytest.mark.parametrize(("text", "reason"), ALL_SKIPPED.values(), ids=ALL_SKIPPED)
def test_where_no_edited_case_is_seen_a_suite_that_is_all_skipped_says_so(text: str, reason: InvalidReason) -> None:
    """What the golden patch edits in a module that is skipped as a whole is no case of any run."""
    found = finding(evidence(runs(text), GoldenMiss(reason="no-cases")))

    assert found.reason is reason
    assert (found.detail == "all that was collected is skipped: a") is (reason is InvalidReason.SKIPPED)
