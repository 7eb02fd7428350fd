"""Opens the claims of a store: lock files for a local store, leases if machines share it."""

from __future__ import annotations

from pathlib import Path

from tasks.adapters.coordination.backends import open_coordinator
from tasks.adapters.coordination.interface import Coordinator
from tasks.adapters.store.files.disk import LocalDisk, place_in_leases
from tasks.adapters.store.tables.store import Store
from tasks.domain.names import content_key

FOLDER = "claims"


def claims_of(store: Store, cache: Path) -> Coordinator:
    """Return the coordinator for the claims of a store."""
    return open_coordinator(lock_folder(store, cache, FOLDER), place_in_leases(store.disk))


def lock_folder(store: Store, cache: Path, name: str) -> Path:
    """Return the folder for lock files. For an object store it is in `cache`, named after the store."""
    if isinstance(store.disk, LocalDisk):
        return store.disk.root / name
    return cache / name / content_key("store", store.url)
