"""Locks between the threads of a process, between processes, and between machines.

On one machine the kernel holds a lock file (`flock`, through filelock), so a lock ends with its process. filelock polls
every 50 ms, which is short compared with the guarded work: copying a mirror, building an environment, a paid model
call. Machines that share PostgreSQL (`SWT_LEASES`) also take a lease, under a name that is the same on all of them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout

from tasks.adapters.coordination.postgres import hold_lease, session

PLACE = ".place"
"""File with the unique name of a folder, the same for all machines, wherever they mount the folder."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold a lock file, which is not removed. Machines that share its folder respect the lock as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path), hold_lease(f"{scope_of(path.parent)}/{path.name}"):
        yield


@contextmanager
def temporary_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock file that is removed afterwards. Yields whether it is held; with `wait`, always true.

    The file is removed while the lock is held: a waiting process detects this and creates a new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)
        lock.release()


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary file for writing, which then replaces `path` atomically.

    Each writer has its own temporary file, also in another thread or container.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield half
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def scope_of(folder: Path) -> str:
    """Return the name under which machines share a folder. Empty if this machine works alone."""
    return place_of(folder) if session() else ""


@lru_cache(maxsize=256)
def place_of(folder: Path) -> str:
    """Return a folder's unique name, which the first call generates."""
    file = folder / PLACE
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        drawn = file.with_name(f"{PLACE}.{secrets.token_hex(8)}")
        drawn.write_text(secrets.token_hex(16))
        with suppress(FileExistsError):  # two names of one folder would let two processes hold the same lock
            os.link(drawn, file)
        drawn.unlink()
    return file.read_text()
