"""Select the instances of a sweep, in a fixed pseudo-random order."""

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
    """Instances whose pull request was opened in the given number of months before a day."""

    months: int
    until: date


def inside(window: Window, snapshot: str, database: Path) -> frozenset[InstanceId]:
    """Returns the instances of a snapshot in a window. The views must exist."""
    asked = selection("instance_window", arguments=(snapshot, window.months, window.until))
    return frozenset(query(database, asked)["instance_id"].to_pylist())


def drawn(
    instances: Iterable[TaskInstance],
    *,
    only: Collection[str] | None = None,
    limit: int | None = None,
) -> tuple[TaskInstance, ...]:
    """Returns the instances in `only` (None: all), ordered by a hash of their names. So a larger limit adds instances
    to those of a smaller one."""
    found = [row for row in instances if only is None or row.instance_id in only]
    return tuple(sorted(found, key=lambda row: content_key("draw", row.instance_id))[:limit])
