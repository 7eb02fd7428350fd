"""Snapshot: facts counted, a snapshot published, a snapshot verified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views.database import Value, query, selection
from tasks.domain.collect import IssueLink
from tasks.domain.environment import Environment
from tasks.domain.errors import GateFailed, NotFound, UsageError
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.names import EnvId, InstanceId, InstanceKey, SnapshotName, instance_id, month_of
from tasks.domain.places import Places
from tasks.domain.published import InstanceFact, QualityFlag, SnapshotChange, Withdrawal
from tasks.domain.undone import OfSnapshot
from tasks.domain.validation import CaseStability, Validation
from tasks.snapshot.compose import changes, golden_cases, latest, published
from tasks.snapshot.facts import code_base, fact_of
from tasks.snapshot.manifest import Gate, complaints, lock_hash, locks_of, manifest_of, to_bytes
from tasks.snapshot.quality import ORIGIN, flags_of, relations_of


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication(OfSnapshot):
    """A snapshot to be published from a pool, if it differs from the one before."""

    pool: str
    previous: str = ""
    unchanged: bool = False
    """Whether it is to be published empty, or without any difference, as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationOutcome:
    """What became of a publication."""

    published: Published | None
    remark: str = ""
    """Why there is none, although nothing went wrong."""


def publish(places: Places, database: Path, unit: Publication) -> PublicationOutcome:
    """Publish what is valid of the pool, if the controls did on these very instances what they should (`GateFailed`).

    Nothing is published where nothing is valid, or nothing differs from the snapshot before.
    """
    counts = _counts(database)
    order = Order(snapshot=unit.snapshot, pool=unit.pool, previous=unit.previous, counts=counts)
    draft = draft_snapshot(places, order)
    if not draft.rows and not unit.unchanged:
        return PublicationOutcome(published=None, remark=f"{unit.snapshot} is not published: no instance is valid")
    if unit.previous and not unit.unchanged and not _differs(places, draft):
        return PublicationOutcome(
            published=None, remark=f"{unit.snapshot} is not published: it is the same as {unit.previous}"
        )
    return PublicationOutcome(published=publish_snapshot(places, draft, gate_of(database, draft)))


def _differs(places: Places, draft: Draft) -> bool:
    order = draft.order
    before = Store(places.store).read(TaskInstance, snapshot=order.previous)
    return bool(changes(before, draft.rows, draft.judged, snapshot=order.snapshot, previous=order.previous))


def gate_of(database: Path, draft: Draft) -> Gate:
    """What the controls did on the instances that would be published."""
    names = [row.instance_id for row in draft.rows]
    wanted: dict[str, list[Value]] = {
        "snapshot": [draft.order.pool],
        "policy": ["tests-only"],
        "method": ["golden", "nop"],
        "solved": [True],
        "instance_id": [*names],
    }
    solved = query(database, selection("paper", wanted))["method"].to_pylist()
    return Gate(instances=len(names), golden_solved=solved.count("golden"), nop_solved=solved.count("nop"))


def _counts(database: Path) -> tuple[tuple[str, int], ...]:
    """How many rows the stages before have."""
    (row,) = query(database, selection("stage_count")).to_pylist()
    return tuple(row.items())


def count_facts(places: Places, unit: OfSnapshot) -> int:
    """Count what is new of a snapshot's instances; how many rows were written."""
    snapshot, store, mirrors = unit.snapshot, Store(places.store), Mirrors(places.mirrors)
    known = {row.instance_key for row in store.read(InstanceFact)}
    fresh = [row for row in store.read(TaskInstance, snapshot=snapshot) if row.instance_key not in known]
    store.write([fact_of(row, code_base(mirrors, row.repo, row.base_commit)) for row in fresh])
    flags = _flags(store, mirrors, snapshot)
    store.replace(QualityFlag, flags, key=f"flags-{snapshot}-{ORIGIN}", snapshot=snapshot, origin=ORIGIN)
    return len(fresh)


def _flags(store: Store, mirrors: Mirrors, snapshot: str) -> list[QualityFlag]:
    """All that the rules doubt of a snapshot: rules may have changed, and imports have come, since the last time."""
    rows = store.read(TaskInstance, snapshot=snapshot)
    names = tuple(row.instance_id for row in rows)
    made = {row.snapshot for row in store.read(Snapshot) if row.manifest} | {snapshot}
    issues: dict[InstanceId, list[int]] = defaultdict(list)
    for link in store.read(IssueLink, repo=tuple({row.repo for row in rows}), known=True, other_repository=False):
        if link.usable:
            issues[instance_id(link.repo, link.number)].append(link.issue)
    same = store.read(TaskInstance, instance_id=names) if rows else ()
    imported = (row for row in same if row.snapshot not in made and row.source not in {one.source for one in rows})
    own = [found for row in rows for found in flags_of(row, partial(mirrors.mentions, row.repo, row.base_commit))]
    return [*own, *relations_of(rows, issues, imported)]


def withdraw_snapshot(places: Places, name: str, reason: str, instance: str = "") -> Withdrawal:
    """Say that a published snapshot, or one instance of it, is not to be used any more.

    `NotFound` where nothing was published by this name.
    """
    store = Store(places.store)
    if already_published(places, name) is None:
        raise NotFound(f"there is no published snapshot {name!r}", hint="`swt snapshot list` names them")
    if instance and not store.read(TaskInstance, snapshot=name, instance_id=instance):
        raise NotFound(f"{name} has no instance {instance}", hint=f"`swt snapshot show {name}` names them")
    if known := withdrawal_of(places, name, instance):
        return known
    row = Withdrawal(snapshot=name, reason=reason, withdrawn_at=datetime.now(UTC), instance_id=instance)
    store.write([row], key=f"{name}-{instance}" if instance else name)
    return row


def withdrawal_of(places: Places, name: str, instance: str = "") -> Withdrawal | None:
    """The row that withdraws a snapshot, or an instance of it; null where nobody did."""
    return next(iter(Store(places.store).read(Withdrawal, snapshot=name, instance_id=instance)), None)


def _withdrawn_instances(store: Store) -> dict[str, str]:
    """Instance → why it is not to be used any more."""
    return {row.instance_id: row.reason for row in store.read(Withdrawal) if row.instance_id}


def already_published(places: Places, name: str) -> Published | None:
    """The snapshot with this name, as it was published; null where there is none."""
    store = Store(places.store)
    made = [row for row in store.read(Snapshot, snapshot=name) if row.manifest]
    return Published(snapshot=made[0], changes=store.read(SnapshotChange, snapshot=name)) if made else None


def published_before(places: Places, name: str) -> str:
    """The published snapshot that stands and that `name` follows; empty where there is none.

    A month follows the latest month or revision before it, whenever that was published. A name that is no month follows
    whatever was published last.
    """
    store = Store(places.store)
    passed = {name, *(row.snapshot for row in store.read(Withdrawal, instance_id=""))}
    made = [row for row in store.read(Snapshot) if row.manifest and row.snapshot not in passed]
    if (month := month_of(name)) is None:
        return max(made, key=lambda row: row.created_at).snapshot if made else ""
    earlier = ((when, row.snapshot) for row in made if (when := month_of(row.snapshot)) and when < month)
    return max(earlier, default=(month, ""))[1]


def next_revision(places: Places, name: str) -> str:
    """What a month may be published as that is withdrawn: `2026-03` → `2026-03.1`, or the first that is free."""
    taken = {row.snapshot for row in Store(places.store).read(Snapshot)}
    month = name.partition(".")[0]
    return next(one for number in count(1) if (one := f"{month}.{number}") not in taken)


def draft_snapshot(places: Places, order: Order) -> Draft:
    """What the store would make of the order."""
    store = Store(places.store)
    judged = latest(store.read(Validation, snapshot=order.pool))
    cases = golden_cases(store.read(CaseStability), judged)
    gone = _withdrawn_instances(store)
    held = (row for row in store.read(TaskInstance, snapshot=order.pool) if row.instance_id not in gone)
    rows = published(held, judged, cases, order.snapshot)
    return Draft(order=order, rows=rows, judged=judged)


def publish_snapshot(places: Places, draft: Draft, gate: Gate) -> Published:
    """Write the snapshot, its manifest and its difference to the one before. The same rows again change nothing.

    `GateFailed` where a control fails, `UsageError` where the name is taken by other rows.
    """
    order, rows = draft.order, draft.rows
    if not gate.holds:
        raise GateFailed(f"{order.snapshot} is not published: {gate}", hint="see `FROM audit_golden_not_solved`")
    store = Store(places.store)
    made = _snapshot(store, draft, gate)
    known = store.read(Snapshot, snapshot=order.snapshot)
    if known and known[0].content != made.content:
        raise UsageError(f"snapshot {order.snapshot} exists with other rows", hint="choose another name")
    before = store.read(TaskInstance, snapshot=order.previous) if order.previous else ()
    differs = changes(
        before,
        rows,
        draft.judged,
        snapshot=order.snapshot,
        previous=order.previous,
        withdrawn=_withdrawn_instances(store),
    )
    if known:
        return Published(snapshot=known[0], changes=differs)
    key = f"{order.snapshot}-{made.content}"
    store.write(rows, key=key)
    store.write(differs, key=key)
    store.write(_flags_of_rows(store, order.pool, rows), key=key)
    store.write([made], key=key)
    return Published(snapshot=made, changes=differs)


def _flags_of_rows(store: Store, pool: str, rows: Iterable[TaskInstance]) -> list[QualityFlag]:
    """What is doubted of these rows in the pool, under the name that they are published by."""
    names = {row.instance_key: row.snapshot for row in rows}
    found = store.read(QualityFlag, snapshot=pool)
    return [replace(row, snapshot=names[row.instance_key]) for row in found if row.instance_key in names]


def verify_snapshot(places: Places, name: str) -> tuple[str, ...]:
    """What of the store is not as the snapshot's manifest says. `NotFound` where it has no manifest."""
    store = Store(places.store)
    found = store.read(Snapshot, snapshot=name)
    if not found or not found[0].manifest:
        raise NotFound(f"there is no published snapshot {name!r}", hint="`swt snapshot list` names them")
    locks = {row.env_id: lock_hash(row) for row in store.read(Environment)}
    with store.open_file(found[0].manifest) as file:
        return complaints(found[0], file.read(), store.read(TaskInstance, snapshot=name), locks)


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
        content=Snapshot.content_of(rows, locks_of(environments)),
        source=order.pool,
        created_at=datetime.now(UTC),
        previous=order.previous,
        manifest=store.put_file(to_bytes(manifest)),
        trial=any(row.trial for row in rows),
    )
