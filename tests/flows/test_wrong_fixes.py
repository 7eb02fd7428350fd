"""The demo's wrong fixes for real: which tests tell them from the golden patch?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.demo import DEMO, SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import EvaluationRequest, StrengthRequest
from flows.interface.settings import Settings
from flows.judge_repairs import FixesSummary
from tasks.adapters.store.views.database import query
from tasks.domain.errors import NotFound

NAME = "rolling-swt-bench__larder-"
INSTANCES = tuple(f"{NAME}{number}" for number in (3, 7, 15))
REPAIRS = str(DEMO / "repairs.demo-quick.jsonl")


def judge(settings: Settings) -> None:
    request = EvaluationRequest(
        candidates=("golden", str(DEMO / "predictions.demo-careful.jsonl")),
        snapshot=SNAPSHOT,
        instances=INSTANCES,
        guards=False,
        confirm=False,
    )
    run_flow(request, settings)


def hold(settings: Settings, *files: str, instances: tuple[str, ...] = INSTANCES) -> FixesSummary:
    return run_flow(StrengthRequest(fixes=files, snapshot=SNAPSHOT, instances=instances), settings)


@pytest.mark.slow
def test_wrong_fixes_are_known_and_some_tests_let_them_pass(settings: Settings) -> None:
    judge(settings)
    first = hold(settings, REPAIRS)
    rows = query(settings.database, "SELECT method, solved, tried, fixes, rejected FROM strength ORDER BY method")
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        ("demo-careful", 3, 3, 3, 0),
        ("golden", 3, 3, 3, 3),
    ]
    assert "4 different ones to run, 0 touch tests: 1 resolved, 3 unresolved; 8 runs" in first.text
    assert first.exit_code == 0
    assert first.problems == (f"{Path(REPAIRS).name}: 4 rows are of instances that were not asked for",)
    again = hold(settings, REPAIRS)
    assert "; 0 runs, " in again.text
    assert query(settings.database, "FROM audit_orphan").num_rows == 0


@pytest.mark.slow
def test_bad_repairs_lose_nothing(settings: Settings, tmp_path: Path) -> None:
    good = Path(REPAIRS).read_text().splitlines()[0]
    mixed = tmp_path / "repairs.jsonl"
    unknown = json.dumps({"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "x"})
    mixed.write_text("\n".join([good[:40], unknown, good]))
    summary = hold(settings, str(mixed))
    assert [line.split(": ", 2)[0] for line in summary.problems[:2]] == ["repairs.jsonl:1", "repairs.jsonl:2"]
    assert summary.problems[2].endswith("nothing was judged on it yet, see `swt evaluate`")
    assert summary.exit_code == 3
    with pytest.raises(NotFound, match="nowhere"):
        hold(settings, str(tmp_path / "nowhere.jsonl"))
