"""Which instances a sweep works on, in a fixed order that is no order of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tasks.adapters.store.rows.latest import literal
from tasks.adapters.store.views.database import query
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Instances whose pull request was opened in the last so many months before a day."""

    months: int
    until: date


def inside(window: Window, snapshot: str, database: Path) -> frozenset[InstanceId]:
    """The instances of a snapshot that lie in a window; the views have to be there."""
    called = f"instance_window({literal(snapshot)}, {window.months}, DATE {literal(window.until.isoformat())})"
    return frozenset(query(database, f"SELECT instance_id FROM {called}")["instance_id"].to_pylist())


def drawn(
    instances: Iterable[TaskInstance],
    *,
    only: Collection[str] | None = None,
    limit: int | None = None,
) -> tuple[TaskInstance, ...]:
    """Those of `only` (null: all), drawn by a hash of their names, so that a larger limit adds to a smaller one."""
    found = [row for row in instances if only is None or row.instance_id in only]
    return tuple(sorted(found, key=lambda row: content_key("draw", row.instance_id))[:limit])
