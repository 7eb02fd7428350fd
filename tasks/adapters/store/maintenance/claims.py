"""Claims on what a store is to hold: lock files beside a local store, leases where machines share one."""

from __future__ import annotations

from pathlib import Path

from tasks.adapters.coordination.locks import Claims
from tasks.adapters.store.files.disk import LocalDisk, place_in_leases
from tasks.adapters.store.rows.store import Store
from tasks.domain.names import content_key

FOLDER = "claims"


def claims_of(store: Store, cache: Path) -> Claims:
    """Those of a store. The lock files of an object store lie below `cache`, in a folder that is named after it."""
    if isinstance(store.disk, LocalDisk):
        return Claims(store.disk.root / FOLDER, place_in_leases(store.disk))
    return Claims(cache / FOLDER / content_key("store", store.url), place_in_leases(store.disk))
