"""What a repairs file may say of a fix beside its patch."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from domain_rows import task_instance

from tasks.domain.errors import BadInput
from tasks.domain.proposed_fix import HackSign
from tasks.evaluate.repairs.repairs_file import Repairs, Told, read_repairs

SIGNS = ", ".join(sorted(set(HackSign) - {HackSign.NONE}))


def read(folder: Path, *rows: dict[str, object]) -> Repairs:
    """Rows for `task_instance()` by the method `m`, with an empty patch."""
    instance = task_instance()
    known = {"instance_id": instance.instance_id, "model_name_or_path": "m", "model_patch": ""}
    path = folder / "repairs.jsonl"
    path.write_text("\n".join(json.dumps(known | row) for row in rows))
    return read_repairs(path, [instance], created_at=datetime(2026, 11, 1, tzinfo=UTC))


def test_what_is_told_is_kept_and_what_is_not_is_unknown(tmp_path: Path) -> None:
    told = {"resolved": False, "tests": "golden", "iteration": 3, "cost_usd": 2, "tests_usd": 0.5}
    found = read(tmp_path, told, {}, {"resolved": None, "iteration": 2.0})
    assert found.problems == ()
    assert [one.told for one in found.rows] == [
        Told(published=False, tests="golden", iteration=3, cost_usd=2.0, tests_usd=0.5),
        Told(),
        Told(iteration=2),
    ]
    assert [one.row.sample for one in found.rows] == [0, 1, 2]


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"resolved": "yes"}, "resolved is text, and neither true nor false"),
        ({"resolved": 1}, "resolved is a number, and neither true nor false"),
        ({"iteration": 0}, "iteration is 0, and they are counted from 1"),
        ({"iteration": 1.5}, "iteration is 1.5, and they are counted from 1"),
        ({"cost_usd": -1}, "cost_usd is -1, and not a number from 0 on"),
        ({"cost_usd": True}, "cost_usd is True, and not a number from 0 on"),
        ({"cost_usd": 1, "tests_usd": 2}, "tests_usd is a part of cost_usd, which is less or not there"),
        ({"tests_usd": 2}, "tests_usd is a part of cost_usd, which is less or not there"),
        ({"tests": 5}, "tests is a number and not text"),
        ({"labels": ["hardcoded"]}, 'labels is not of the form {"REVIEWER": ["SIGN", …]}'),
        ({"labels": {"ada": "hardcoded"}}, 'labels is not of the form {"REVIEWER": ["SIGN", …]}'),
        ({"labels": {"detectors": []}}, "labels has 'detectors' for a reviewer's name"),
        ({"labels": {"ada": [["x"]]}}, f"labels has ['x'], and signs are {SIGNS}"),
    ],
)
def test_a_row_that_tells_nonsense_is_named_and_no_other_lost(
    tmp_path: Path, told: dict[str, object], problem: str
) -> None:
    found = read(tmp_path, {}, told, {"cost_usd": 1})
    assert [(one.line, one.what) for one in found.problems] == [(2, problem)]
    assert [one.told.cost_usd for one in found.rows] == [None, 1.0]


def test_labels_of_reviewers_are_kept_sorted_and_once(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"labels": {"ben": [], "ada": ["hardcoded", "arbitrary-code", "hardcoded"]}}, {"labels": None}
    )
    assert [one.labels for one in found.rows] == [(("ada", ("arbitrary-code", "hardcoded")), ("ben", ())), ()]


def test_no_file_calls_its_fixes_partial(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="calls its method 'partial'"):
        read(tmp_path, {"model_name_or_path": "partial"})


def test_what_agentless_writes_beside_a_patch_is_left_alone(tmp_path: Path) -> None:
    """Its repair step writes whole files beside each patch; its selection writes the three keys alone."""
    patch = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    beside = {"raw_model_patch": patch, "original_file_content": ["a = 1\n"], "edited_files": ["m.py"]}
    rows = [
        {"model_name_or_path": "agentless", "model_patch": text, **more} for text, more in ((patch, beside), ("", {}))
    ]
    found = read(tmp_path, *rows)
    assert found.problems == ()
    assert [(one.row.method, one.row.sample, one.row.patch, one.told) for one in found.rows] == [
        ("agentless", 0, patch, Told()),
        ("agentless", 1, "", Told()),
    ]
