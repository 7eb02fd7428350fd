"""Where a row came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Stored flat, as the last columns of every table that holds measurements."""

    project_commit: str
    """Commit of this project that wrote the row; empty outside a git checkout."""
    project_dirty: bool
    """Whether that checkout had uncommitted changes."""
    project_version: str
    """Version of this project that wrote the row."""
    config_hash: str
    """Content key of the settings that were in force."""
    started_at: datetime
    """Aware, UTC."""
    finished_at: datetime
    """Aware, UTC."""
