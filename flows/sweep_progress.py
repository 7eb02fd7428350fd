"""How far a flow run is, as a progress artifact for each of its parts."""

from __future__ import annotations

import re
import time
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

EVERY_S = 2.0
"""No more updates of one artifact than this."""


class ProgressArtifacts:
    """A `Watch` (fan_out.py) for use inside a flow run."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._ids: dict[str, UUID] = {}
        self._told: dict[str, float] = {}

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._told.get(label, 0.0) < EVERY_S:
            return
        self._told[label] = now
        said = f"{label}: {done} of {total}"
        if label in self._ids:
            update_progress_artifact(self._ids[label], progress=100 * done / total, description=said)
        else:
            key = re.sub(r"[^a-z0-9]+", "-", f"{self.key}-{label}".lower()).strip("-")
            made = create_progress_artifact(progress=100 * done / total, key=key, description=said)
            self._ids[label] = cast(UUID, made)
