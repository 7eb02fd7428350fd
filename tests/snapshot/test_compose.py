from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from snapshot_rows import MARCH, case, instance, validation

from tasks.domain.outcome import SuiteKind
from tasks.domain.published import ChangeKind
from tasks.domain.validation import InvalidReason, Stability
from tasks.snapshot.compose import changes, golden_cases, latest, published


def test_only_valid_instances_are_published_with_the_lists_that_validation_found() -> None:
    good, bad, unseen = instance(1), instance(2), instance(3)
    judged = latest([validation(good), validation(bad, InvalidReason.FLAKY)])
    rows = [
        case(good.instance_key, "test_new", Stability.FAIL_TO_PASS),
        case(good.instance_key, "test_old", Stability.PASS_TO_PASS),
        case(good.instance_key, "test_coin", Stability.FLAKY),
        case(good.instance_key, "test_elsewhere", Stability.PASS_TO_PASS, SuiteKind.NONE),
    ]

    (row,) = published([bad, good, unseen], judged, golden_cases(rows, judged), "2026-03")

    assert (row.instance_id, row.snapshot) == ("a__b-1", "2026-03")
    assert (row.FAIL_TO_PASS, row.PASS_TO_PASS) == (("test_new",), ("test_old",))


def test_the_last_word_counts_but_a_failure_of_ours_is_none() -> None:
    row = instance(1)
    first = validation(row)
    later = validation(row, InvalidReason.FLAKY, at=MARCH + timedelta(days=31))
    ours = validation(row, InvalidReason.INFRASTRUCTURE, at=MARCH + timedelta(days=62))

    assert latest([later, first])[row.instance_key] is later
    assert latest([ours, first])[row.instance_key] is first
    assert latest([ours])[row.instance_key] is ours


def test_the_difference_names_what_was_added_retired_and_repaired_and_why() -> None:
    kept, gone, lost, mended, new = (instance(number) for number in range(1, 6))
    other = instance(4, patch="another")
    judged = latest([validation(kept), validation(gone, InvalidReason.FLAKY), validation(other), validation(new)])

    found = changes([kept, gone, lost, mended], [kept, other, new], judged, snapshot="2026-04", previous="2026-03")

    assert [(row.instance_id, row.change, row.reason) for row in found] == [
        ("a__b-2", ChangeKind.RETIRED, "flaky"),
        ("a__b-3", ChangeKind.RETIRED, "not_collected"),
        ("a__b-4", ChangeKind.REPAIRED, "base, patch or tests"),
        ("a__b-5", ChangeKind.ADDED, ""),
    ]
    assert found[2].instance_key == other.instance_key


def test_other_lists_are_a_repair() -> None:
    row = instance(1)
    other = replace(row, FAIL_TO_PASS=("test_new",))

    (found,) = changes([row], [other], {}, snapshot="2026-04", previous="2026-03")

    assert (found.change, found.reason) == (ChangeKind.REPAIRED, "FAIL_TO_PASS")
