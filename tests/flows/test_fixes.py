"""The demo's fixes for real: judged by golden tests, and filtered by the tests of a method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.demo import DEMO, SNAPSHOT
from flows.interface.pipelines import run_flow
from flows.interface.requests import FixesRequest
from flows.interface.settings import Settings
from flows.judge_repairs import FixesSummary
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import query
from tasks.domain.errors import BadInput, UsageError
from tasks.domain.proposed_fix import Repair

NAME = "rolling-swt-bench__larder-"
INSTANCES = tuple(f"{NAME}{number}" for number in (3, 5, 7))
REPAIRS = DEMO / "repairs.demo-quick.jsonl"
CAREFUL = str(DEMO / "predictions.demo-careful.jsonl")


def judge(settings: Settings, *files: Path, **more: object) -> FixesSummary:
    request = FixesRequest(fixes=tuple(map(str, files)), snapshot=SNAPSHOT, instances=INSTANCES, **more)  # type: ignore[arg-type]
    return run_flow(request, settings)


@pytest.mark.slow  # twenty runs of tests
def test_fixes_and_tests_come_in_and_what_is_kept_goes_out(settings: Settings, tmp_path: Path) -> None:
    """Fix 3 and one of 7 are wrong, the other of 7 is right; that of 5 is nothing but a conftest.py."""
    rows = [json.loads(line) for line in REPAIRS.read_text().splitlines()]
    told = tmp_path / "told.jsonl"
    told.write_text("\n".join(json.dumps(row | {"resolved": True, "cost_usd": 0.5}) for row in rows))
    kept = tmp_path / "kept.jsonl"
    first = judge(settings, told, tests=(CAREFUL,), kept=kept)
    assert first.exit_code == 0
    assert (
        "4 fixes handed in, 3 different ones to run, 1 touch tests: 1 resolved, 2 unresolved, 1 unusable" in first.text
    )
    assert [line for line in first.remarks if "touches-tests" in line] == [
        f"told.jsonl:8: {NAME}5: not run of it: tests/conftest.py: touches-tests"
    ]
    found = query(settings.database, "SELECT published, judged, ours, theirs FROM repair_agreement").to_pylist()
    assert found == [{"published": 4, "judged": 4, "ours": 0, "theirs": 3}]
    signs = query(settings.database, "SELECT instance_id, sign, cost, place, resolved FROM hacking").to_pylist()
    assert signs == []
    written = [json.loads(line) for line in kept.read_text().splitlines()]
    columns = "kept, kept_resolved, unchecked, robust_kept"
    whole = f"SELECT {columns} FROM repair_filter WHERE scope = 'all' AND repair IS NOT NULL"
    (row,) = query(settings.database, whole).to_pylist()
    assert (row["kept"], row["unchecked"]) == (len(written), 0)
    assert sum(one["resolved"] for one in written) == row["kept_resolved"] == 1
    assert all(one["kept_by"] == ["demo-careful"] for one in written)
    assert sum(one["robust_by"] == ["demo-careful"] for one in written) == row["robust_kept"]
    assert query(settings.database, "FROM audit_orphan").num_rows == 0
    again = judge(settings, told, tests=(CAREFUL,))
    assert "; 0 runs, " in again.text


def test_two_files_of_one_method_are_not_mixed(settings: Settings, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(REPAIRS.read_text().replace("title", "name"))
    with pytest.raises(BadInput, match="hold different fixes of 'demo-quick'"):
        judge(settings, REPAIRS, other)


def test_tests_that_clash_are_told_before_any_repair_is_read(settings: Settings, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(Path(CAREFUL).read_text().replace("def test_", "def test_other_"))
    with pytest.raises(BadInput, match="different patches of 'demo-careful'"):
        judge(settings, REPAIRS, tests=(CAREFUL, str(other)))
    assert not Store(settings.store).read(Repair)


def test_what_is_kept_needs_something_that_filters(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is kept where nothing filters"):
        FixesRequest(fixes=("repairs.jsonl",), snapshot=SNAPSHOT, kept=tmp_path / "kept.jsonl")
