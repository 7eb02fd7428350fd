"""Selects the backend: PostgreSQL if machines work together, else the files of this machine."""

from __future__ import annotations

from pathlib import Path

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.coordination.interface import Coordinator
from tasks.adapters.coordination.postgres import SharedCoordinator, session
from tasks.adapters.coordination.sqlite import LocalCoordinator


def open_coordinator(folder: Path, scope: str, clock: Clock | None = None) -> Coordinator:
    """Coordinate under `scope` with other machines, or in `folder` with other processes of this machine.

    A lease replaces the lock file: on a shared folder, a hanging process would hold a lock file for ever.
    """
    opened = session()
    return SharedCoordinator(opened, scope) if opened else LocalCoordinator(folder, clock or SystemClock())
