"""Which instances a sweep works on, in a fixed order that is no order of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tasks.adapters.store.views.database import query, selection
from tasks.domain.instance import TaskInstance
from tasks.domain.names import InstanceId, content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Instances whose pull request was opened in the last so many months before a day."""

    months: int
    until: date


def inside(window: Window, snapshot: str, database: Path) -> frozenset[InstanceId]:
    """The instances of a snapshot that lie in a window; the views have to be there."""
    asked = selection("instance_window", arguments=(snapshot, window.months, window.until))
    return frozenset(query(database, asked)["instance_id"].to_pylist())


def drawn(
    instances: Iterable[TaskInstance],
    *,
    only: Collection[str] | None = None,
    limit: int | None = None,
) -> tuple[TaskInstance, ...]:
    """Those of `only` (null: all), drawn by a hash of their names, so that a larger limit adds to a smaller one."""
    found = [row for row in instances if only is None or row.instance_id in only]
    return tuple(sorted(found, key=lambda row: content_key("draw", row.instance_id))[:limit])
