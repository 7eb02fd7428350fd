"""What cannot be done is not lost: a failure in any repeat of a validation, or in collecting, is told and counts."""

from __future__ import annotations

from faults import FaultyThreads, disk_full

from flows.demo import SNAPSHOT
from flows.run import begin
from flows.settings import Settings
from flows.validation import STORY, ValidationRequest, ValidationSummary, validate
from tasks.adapters.store.database import query
from tasks.adapters.store.warehouse import Store
from tasks.domain.validation import InvalidReason

INSTANCES = tuple(f"rolling-swt-bench__larder-{number}" for number in (3, 7))


def validated(settings: Settings, board: FaultyThreads) -> ValidationSummary:
    request = ValidationRequest(snapshot=SNAPSHOT, instances=INSTANCES, trusted=True)
    return begin(STORY, request.title, Store(settings.store), board, lambda run: validate(request, settings, run))


def test_where_every_repeat_fails_nothing_is_valid(settings: Settings) -> None:
    full = validated(settings, FaultyThreads(disk_full("validation", "settling", "doubts")))
    assert (full.valid, full.exit_code) == ((), 1)
    assert {row.reason for row in full.validations} == {InvalidReason.INFRASTRUCTURE}
    assert all("disk full" in row.detail for row in full.validations)
    asked = "SELECT subject, round, error, detail, attempts, may_pass FROM {} ORDER BY subject"
    rows = query(settings.database, asked.format("undone")).to_pylist()
    expected = [(name, "validation", "infrastructure", "disk full", 2, True) for name in INSTANCES]
    assert [tuple(row.values()) for row in rows] == expected
    assert query(settings.database, asked.format("undone_now")).num_rows == 2

    free = validated(settings, FaultyThreads(disk_full()))
    assert (free.valid, free.exit_code, free.undone) == (INSTANCES, 0, ())
    assert query(settings.database, asked.format("undone")).num_rows == 2, "rows stay"
    assert query(settings.database, asked.format("undone_now")).num_rows == 0, "and are made up for"
