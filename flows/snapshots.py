"""What there is of snapshots, how two differ, and whether one still is what was published."""

from __future__ import annotations

from flows.asking import text_table
from flows.settings import Settings
from flows.validation import ValidationRequest, validate_here
from tasks.adapters.store.database import ensure_views, query
from tasks.adapters.store.latest import literal
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import NotFound
from tasks.domain.instance import Snapshot, TaskInstance
from tasks.domain.published import SnapshotChange
from tasks.snapshot.compose import changes
from tasks.snapshot.task import Order, count_facts, published_before, verify_snapshot


def list_snapshots(settings: Settings) -> str:
    """One line for each, the oldest first."""
    return _answer(
        settings,
        "SELECT snapshot, instances, left(content, 12) AS content, previous, source, created_at "
        "FROM snapshot ORDER BY created_at, snapshot",
    )


def show_snapshot(settings: Settings, name: str) -> str:
    """Its instances with their facts and health."""
    _known(settings, name)
    return _answer(settings, f"FROM instance_health WHERE snapshot = {literal(name)} ORDER BY instance_id")


def diff_snapshots(settings: Settings, older: str, newer: str) -> str:
    """What differs between any two snapshots; with the reasons of the publication where one follows the other."""
    store = Store(settings.store)
    rows = [store.read(TaskInstance, snapshot=_known(settings, name).snapshot) for name in (older, newer)]
    found = changes(rows[0], rows[1], {}, snapshot=newer, previous=older)
    published = store.read(SnapshotChange, snapshot=newer, previous=older)
    why = {(row.instance_id, row.change): row.reason for row in published}
    lines = [f"{row.change:9} {row.instance_id}  {why.get((row.instance_id, row.change), row.reason)}" for row in found]
    return "\n".join([*lines, f"{len(found)} of {len(rows[0])} and {len(rows[1])} instances differ"])


def freeze_snapshot(settings: Settings, pool: str, name: str, *, trusted: bool) -> str:
    """Validate the instances of `pool` and publish those that are valid as `name`."""
    from flows.rebuild import publish

    validated = validate_here(ValidationRequest(snapshot=pool, trusted=trusted), settings)
    count_facts(settings.places, pool)
    order = Order(snapshot=name, pool=pool, previous=published_before(settings.places, name))
    made = publish(settings, order).snapshot
    ensure_views(settings.store, settings.database, settings.sql)
    return f"{validated.text}\nsnapshot {name}: {made.instances} instances, content {made.content[:12]}"


def verify(settings: Settings, name: str) -> tuple[str, ...]:
    """What of the store is not as the manifest says; empty where all of it is."""
    return verify_snapshot(settings.places, name)


def _known(settings: Settings, name: str) -> Snapshot:
    found = Store(settings.store).read(Snapshot, snapshot=name)
    if not found:
        raise NotFound(f"there is no snapshot {name!r}", hint="`swt snapshot list` names them")
    return found[0]


def _answer(settings: Settings, sql: str) -> str:
    ensure_views(settings.store, settings.database, settings.sql)
    return text_table(query(settings.database, sql))
