"""A snapshot published into a real store, read back, and held against what happens to the store later."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from snapshot_rows import MARCH, case, environment, instance, validation

from tasks.adapters.store.files.layout import file_path
from tasks.adapters.store.tables.store import Store
from tasks.domain.errors import GateFailed, NotFound, UsageError
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import SnapshotName
from tasks.domain.places import Places
from tasks.domain.published import SnapshotChange
from tasks.domain.validation import InvalidReason, Stability
from tasks.snapshot.manifest import Gate
from tasks.snapshot.task import (
    Order,
    Published,
    draft_snapshot,
    next_revision,
    publish_snapshot,
    published_before,
    verify_snapshot,
    withdraw_snapshot,
)

MARCH_ORDER = Order(snapshot="2026-03", pool="pool", counts=(("pull_request", 40),))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(store=str(tmp_path / "store"), cache=tmp_path / "cache", recipes=tmp_path, scratch=tmp_path)
    store = Store(made.store)
    rows = [instance(1), instance(2)]
    store.write(rows)
    store.write([environment()])
    store.write([validation(rows[0]), validation(rows[1], InvalidReason.NO_F2P)])
    store.write([case(rows[0].instance_key, "test_new", Stability.FAIL_TO_PASS)])
    return made


def publish(places: Places, order: Order, gate: Gate) -> Published:
    return publish_snapshot(places, draft_snapshot(places, order), gate)


def test_a_snapshot_is_what_its_manifest_says(places: Places) -> None:
    made = publish(places, MARCH_ORDER, Gate(instances=1, golden_solved=1, nop_solved=0))

    store = Store(places.store)
    (row,) = store.read(TaskInstance, snapshot="2026-03")
    manifest = json.load(store.open_file(made.snapshot.manifest))
    assert row.FAIL_TO_PASS == ("test_new",)
    assert manifest["counts"] == {"pull_request": 40}
    assert [entry["instance_id"] for entry in manifest["instances"]] == ["a__b-1"]
    assert verify_snapshot(places, "2026-03") == ()


def test_publishing_the_same_again_changes_nothing(places: Places) -> None:
    gate = Gate(instances=1, golden_solved=1, nop_solved=0)

    first, second = (publish(places, MARCH_ORDER, gate) for _ in range(2))

    assert first.snapshot == second.snapshot


def test_a_name_is_never_given_to_other_rows(places: Places) -> None:
    gate = Gate(instances=1, golden_solved=1, nop_solved=0)
    publish(places, MARCH_ORDER, gate)
    third = instance(3)
    store = Store(places.store)
    store.write([third])
    store.write([validation(third)])

    with pytest.raises(UsageError, match="2026-03 exists"):
        publish(places, MARCH_ORDER, gate)


@pytest.mark.parametrize(
    "gate", [Gate(instances=2, golden_solved=1, nop_solved=0), Gate(instances=1, golden_solved=1, nop_solved=1)]
)
def test_nothing_is_published_where_a_control_fails(places: Places, gate: Gate) -> None:
    with pytest.raises(GateFailed, match="not published"):
        publish(places, MARCH_ORDER, gate)

    assert Store(places.store).read(TaskInstance, snapshot="2026-03") == ()


def test_the_next_snapshot_says_what_was_retired(places: Places) -> None:
    publish(places, MARCH_ORDER, Gate(instances=1, golden_solved=1, nop_solved=0))
    row = instance(1)
    later = replace(validation(row, InvalidReason.FLAKY), validated_at=validation(row).validated_at.replace(month=4))
    Store(places.store).write([later])
    order = Order(snapshot="2026-04", pool="pool", previous="2026-03")

    made = publish(places, order, Gate(instances=0, golden_solved=0, nop_solved=0))

    assert [(change.instance_id, change.change, change.reason) for change in made.changes] == [
        ("a__b-1", "retired", "flaky")
    ]
    assert Store(places.store).read(SnapshotChange, snapshot="2026-04") == made.changes
    assert draft_snapshot(places, order).rows == ()


def test_a_changed_row_and_another_lock_are_found(places: Places) -> None:
    publish(places, MARCH_ORDER, Gate(instances=1, golden_solved=1, nop_solved=0))
    store = Store(places.store)
    (row,) = store.read(TaskInstance, snapshot="2026-03")
    store.write([replace(row, problem_statement="rewritten")], key="rewritten")
    store.write([replace(environment(), lock="x==2\n")], key="another")

    assert verify_snapshot(places, "2026-03") == (
        "a__b-1: its row is not the one that was published",
        "a__b-1: the lock of environment env is missing or another",
    )


def test_a_changed_manifest_and_another_row_of_the_snapshot_are_found(places: Places) -> None:
    made = publish(places, MARCH_ORDER, Gate(instances=1, golden_solved=1, nop_solved=0)).snapshot
    store = Store(places.store)
    store.write([replace(made, previous="2025-12")], key="later")
    assert verify_snapshot(places, "2026-03") == ("2026-03: its row has another previous",)
    store.write([made], key="latest")

    path = Path(places.store) / file_path(made.manifest)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"nop_solved": 0', b'"nop_solved": 1')))

    assert verify_snapshot(places, "2026-03") == ("2026-03: its manifest is not the one that was published",)


@pytest.mark.parametrize(
    "change",
    [{"problem_statement": "other"}, {"FAIL_TO_PASS": ("test_other",)}, {"PASS_TO_PASS": ("b",)}, {"hints_text": "h"}],
    ids=lambda change: next(iter(change)),
)
def test_two_snapshots_with_other_rows_have_other_contents(change: dict[str, Any]) -> None:
    row = instance(1)
    assert Snapshot.content_of([row]) != Snapshot.content_of([replace(row, **change)])
    assert Snapshot.content_of([row]) == Snapshot.content_of([replace(row, snapshot="elsewhere", source="x")])
    assert Snapshot.content_of([row]) != Snapshot.content_of([row], {row.instance_key: "env lock"})


@pytest.mark.parametrize(
    ("name", "previous"),
    [
        ("2026-03", "2026-02"),
        ("2026-01", "2025-12.2"),
        ("2025-12", ""),
        ("2026-02.1", "2026-02"),
        ("2027-01", "2026-04"),
        ("demo", "2026-02"),
    ],
)
def test_a_month_follows_the_month_before_and_not_what_was_published_last(
    places: Places, name: str, previous: str
) -> None:
    """April was published first, and 2025-12 has been withdrawn."""
    store = Store(places.store)
    published = ("2026-04", "2025-12", "2025-12.2", "frozen", "2026-02")
    for day, each in enumerate(published):
        row = Snapshot(
            snapshot=SnapshotName(each),
            instances=1,
            content="c",
            source="pool",
            created_at=MARCH + timedelta(days=day),
            manifest="m",
        )
        store.write([row])
    withdraw_snapshot(places, "2025-12", "wrong")
    assert published_before(places, name) == previous
    assert next_revision(places, "2025-12") == "2025-12.1"
    assert next_revision(places, "2025-12.2") == "2025-12.1"


def test_an_instance_that_is_taken_down_is_in_no_later_snapshot(places: Places) -> None:
    publish(places, MARCH_ORDER, Gate(instances=1, golden_solved=1, nop_solved=0))
    with pytest.raises(NotFound, match="no instance a__b-9"):
        withdraw_snapshot(places, "2026-03", "its authors ask for it", "a__b-9")
    row = withdraw_snapshot(places, "2026-03", "its authors ask for it", "a__b-1")
    assert withdraw_snapshot(places, "2026-03", "again", "a__b-1") == row

    order = Order(snapshot="2026-04", pool="pool", previous=published_before(places, "2026-04"))
    made = publish(places, order, Gate(instances=0, golden_solved=0, nop_solved=0))

    assert order.previous == "2026-03", "the snapshot itself stands"
    assert [(change.change, change.reason, change.detail) for change in made.changes] == [
        ("retired", "withdrawn", "its authors ask for it")
    ]
    assert verify_snapshot(places, "2026-03") == ()


def test_an_imported_snapshot_has_nothing_to_be_held_against(places: Places) -> None:
    with pytest.raises(NotFound, match="no published snapshot"):
        verify_snapshot(places, "pool")
