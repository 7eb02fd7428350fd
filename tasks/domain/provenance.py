"""The origin of a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The last columns of every table with measurements, stored flat."""

    project_commit: str
    """Commit of this project that wrote the row; empty outside a git checkout."""
    project_dirty: bool
    """Whether that checkout had uncommitted changes."""
    project_version: str
    """Version of this project that wrote the row."""
    config_hash: str
    """Content key of the settings in use."""
    started_at: datetime
    """Aware, UTC."""
    finished_at: datetime
    """Aware, UTC."""
