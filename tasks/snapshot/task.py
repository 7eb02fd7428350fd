"""Snapshot: facts counted, a snapshot published, a snapshot verified."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.warehouse import Store
from tasks.domain.environment import Environment
from tasks.domain.errors import GateFailed, NotFound, UsageError
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import EnvId, InstanceKey, SnapshotName
from tasks.domain.places import Places
from tasks.domain.published import InstanceFact, SnapshotChange
from tasks.domain.validation import CaseStability, Validation
from tasks.snapshot.compose import changes, golden_cases, latest, published
from tasks.snapshot.facts import code_base, fact_of
from tasks.snapshot.manifest import Gate, complaints, lock_hash, manifest_of, to_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A snapshot to be published."""

    snapshot: str
    pool: str
    """Snapshot that holds the collected instances."""
    previous: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    """What goes on record of the stages before: (name, number)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A snapshot as it would be published now."""

    order: Order
    rows: tuple[TaskInstance, ...]
    """Every valid instance of the pool, under the snapshot's name."""
    judged: Mapping[InstanceKey, Validation]
    """The last word on each instance of the pool, the ones that are not valid among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What came of it."""

    snapshot: Snapshot
    changes: tuple[SnapshotChange, ...]


def count_facts(places: Places, snapshot: str) -> int:
    """Count what is new of a snapshot's instances; how many rows were written."""
    store, mirrors = Store(places.store), Mirrors(places.mirrors)
    known = {row.instance_key for row in store.read(InstanceFact)}
    fresh = [row for row in store.read(TaskInstance, snapshot=snapshot) if row.instance_key not in known]
    store.write([fact_of(row, code_base(mirrors, row.repo, row.base_commit)) for row in fresh])
    return len(fresh)


def already_published(places: Places, name: str) -> Published | None:
    """The snapshot with this name, as it was published; null where there is none."""
    store = Store(places.store)
    made = [row for row in store.read(Snapshot, snapshot=name) if row.manifest]
    return Published(snapshot=made[0], changes=store.read(SnapshotChange, snapshot=name)) if made else None


def published_before(places: Places, name: str) -> str:
    """The latest published snapshot of another name; empty where there is none."""
    made = [row for row in Store(places.store).read(Snapshot) if row.manifest and row.snapshot != name]
    return max(made, key=lambda row: row.created_at).snapshot if made else ""


def draft_snapshot(places: Places, order: Order) -> Draft:
    """What the store would make of the order."""
    store = Store(places.store)
    judged = latest(store.read(Validation, snapshot=order.pool))
    cases = golden_cases(store.read(CaseStability), judged)
    rows = published(store.read(TaskInstance, snapshot=order.pool), judged, cases, order.snapshot)
    return Draft(order=order, rows=rows, judged=judged)


def publish_snapshot(places: Places, draft: Draft, gate: Gate) -> Published:
    """Write the snapshot, its manifest and its difference to the one before. The same rows again change nothing.

    `GateFailed` where a control fails, `UsageError` where the name is taken by other rows.
    """
    order, rows = draft.order, draft.rows
    if not gate.holds:
        raise GateFailed(f"{order.snapshot} is not published: {gate}", hint="FROM audit_golden_not_solved")
    store = Store(places.store)
    made = _snapshot(store, draft, gate)
    known = store.read(Snapshot, snapshot=order.snapshot)
    if known and known[0].content != made.content:
        raise UsageError(f"snapshot {order.snapshot} exists with other rows", hint="choose another name")
    before = store.read(TaskInstance, snapshot=order.previous) if order.previous else ()
    differs = changes(before, rows, draft.judged, snapshot=order.snapshot, previous=order.previous)
    if known:
        return Published(snapshot=known[0], changes=differs)
    key = f"{order.snapshot}-{made.content}"
    store.write(rows, key=key)
    store.write(differs, key=key)
    store.write([made], key=key)
    return Published(snapshot=made, changes=differs)


def verify_snapshot(places: Places, name: str) -> tuple[str, ...]:
    """What of the store is not as the snapshot's manifest says. `NotFound` where it has no manifest."""
    store = Store(places.store)
    found = store.read(Snapshot, snapshot=name)
    if not found or not found[0].manifest:
        raise NotFound(f"there is no published snapshot {name!r}", hint="`swt snapshot list` names them")
    with store.open_file(found[0].manifest) as file:
        manifest = json.load(file)
    locks = {row.env_id: lock_hash(row) for row in store.read(Environment)}
    rows = store.read(TaskInstance, snapshot=name)
    wrong = [] if Snapshot.content_of(rows) == found[0].content else [f"{name}: its rows have another content key"]
    return (*wrong, *complaints(manifest, rows, locks))


def _snapshot(store: Store, draft: Draft, gate: Gate) -> Snapshot:
    """The snapshot's row; its manifest is in the store."""
    order, rows = draft.order, draft.rows
    by_id: dict[EnvId, Environment] = {row.env_id: row for row in store.read(Environment)}
    held = {row.instance_key: draft.judged[row.instance_key].env_id for row in rows}
    environments = {key: by_id[env_id] for key, env_id in held.items() if env_id is not None}
    manifest = manifest_of(order.snapshot, order.previous, rows, environments, gate, dict(order.counts))
    return Snapshot(
        snapshot=SnapshotName(order.snapshot),
        instances=len(rows),
        content=Snapshot.content_of(rows),
        source=order.pool,
        created_at=datetime.now(UTC),
        previous=order.previous,
        manifest=store.put_file(to_bytes(manifest)),
    )
