"""Coverage: the lines that golden patches change. Reads instances; writes `changed_line`."""

from __future__ import annotations

from tasks.adapters.store.rows.store import Store
from tasks.coverage.changed_lines import changed_lines
from tasks.domain.instance import ChangedLine, TaskInstance
from tasks.domain.places import Places


def record_changed_lines(places: Places, instances: tuple[TaskInstance, ...]) -> int:
    """Store the changed lines of the instances that have none stored yet; the number of rows written."""
    store = Store(places.store)
    known = {row.instance_key for row in store.read(ChangedLine)}
    missing = [instance for instance in instances if instance.instance_key not in known]
    rows = [row for instance in missing for row in changed_lines(instance.instance_key, instance.patch)]
    store.write(rows)
    return len(rows)
