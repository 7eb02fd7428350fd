from __future__ import annotations

import random
from dataclasses import replace

import pytest
from observed_runs import runs
from scipy.stats import binomtest

from tasks.domain.names import CaseId, RepoPath
from tasks.domain.outcome import Outcome
from tasks.domain.validation import Stability
from tasks.validate.judge import SeenCase, case_rows, disagreeing, flake_upper, stability

A = SeenCase(case_id=CaseId("a"), path=RepoPath("t.py"), label="a")
STEADY = "before plain F\nbefore reordered F\nafter plain P\nafter reordered P\nafter reseeded P\n"

CASES = {
    "fails before, passes after": (STEADY, Stability.FAIL_TO_PASS),
    "missing before is no failure": ("before plain -\nafter plain P", Stability.NONE_TO_PASS),
    "skipped before is no failure": ("before plain S\nafter plain P", Stability.NONE_TO_PASS),
    "an error before is a failure": ("before plain E\nafter plain P", Stability.FAIL_TO_PASS),
    "failed or skipped before": ("before plain F\nbefore rerun S\nafter plain P", Stability.NONE_TO_PASS),
    "skipped after is not passed": ("before plain F\nafter plain S", Stability.FAIL_TO_FAIL),
    "passes in both": ("before plain P\nafter plain P", Stability.PASS_TO_PASS),
    "broken by the fix": ("before plain P\nafter plain F", Stability.PASS_TO_FAIL),
    "equal runs disagree": (STEADY + "after rerun F", Stability.FLAKY),
    "equal runs disagree before the fix": (STEADY + "before rerun P", Stability.FLAKY),
    "only another order disagrees": ("before plain F\nafter plain P\nafter reordered F", Stability.ORDER),
    "only another seed disagrees": ("before plain F\nafter plain P\nafter reseeded F", Stability.SEED),
    "only the reversed repeat of a guard disagrees": (STEADY + "after repeat F", Stability.ORDER),
    "the repeat of a guard has another seed too": (STEADY + "before reseeded P\nbefore repeat P", Stability.SEED),
    "other code says nothing of a case": (STEADY + "before placebo P\nafter paraphrase F", Stability.FAIL_TO_PASS),
    "fails a year on": (STEADY + "after later F", Stability.TIME_BOMB),
    "passes a year on": (STEADY + "after later P", Stability.FAIL_TO_PASS),
    "passes with a network only": ("before plain F\nafter plain F\nafter online P", Stability.NEEDS_NETWORK),
    "fails with a network too": ("before plain F\nafter plain F\nafter online F", Stability.FAIL_TO_FAIL),
    "a network changes nothing": (STEADY + "after online P", Stability.FAIL_TO_PASS),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_a_case_is_called(text: str, expected: Stability) -> None:
    assert stability(A, runs(text)) is expected


def test_a_case_of_a_module_that_cannot_be_collected_before_fails_there() -> None:
    before, after = runs("before plain -\nafter plain P")
    before = replace(before, outcomes={CaseId("t.py"): Outcome.ERROR})
    assert stability(A, [before, after]) is Stability.FAIL_TO_PASS


def test_a_row_counts_the_runs_of_today_only() -> None:
    (row,) = case_rows("k", "e", [A], runs(STEADY + "after later F"))  # type: ignore[arg-type]

    assert (row.before_runs, row.before_passed, row.after_runs, row.after_passed) == (2, 0, 3, 3)
    assert row.flake_rate == 0.0
    assert row.flake_upper == flake_upper(0, 3) or row.flake_upper == flake_upper(0, 2)


def test_the_upper_bound_is_that_of_clopper_and_pearson() -> None:
    for number, total in ((0, 5), (1, 8), (3, 20), (20, 20)):
        expected = binomtest(number, total).proportion_ci(confidence_level=0.95, method="exact").high
        assert flake_upper(number, total) == pytest.approx(expected)
    assert flake_upper(0, 0) == 1.0


def test_the_rate_is_that_of_the_minority() -> None:
    assert disagreeing((True, True, False)) == 1
    assert disagreeing((False, False, True, False)) == 1
    assert disagreeing(()) == 0


def test_steady_cases_are_never_quarantined_and_flips_are_as_often_as_they_are_seen() -> None:
    """Two hundred validations of eight runs each, by lot: what is flagged is what has disagreed."""
    lot = random.Random(7)
    for rate in (0.0, 0.05, 0.2, 0.5):
        for _ in range(200):
            flips = [lot.random() < rate for _ in range(8)]
            lines = [f"before plain {'P' if flip else 'F'}" for flip in flips[:3]]
            lines += [f"after plain {'F' if flip else 'P'}" for flip in flips[3:]]
            disagrees = len(set(flips[:3])) > 1 or len(set(flips[3:])) > 1
            assert (stability(A, runs("\n".join(lines))) is Stability.FLAKY) == disagrees
