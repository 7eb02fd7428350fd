"""One at a time, by a lock file: between the threads of a process and between processes.

The kernel holds the lock (`flock`, through filelock), so the death of its owner gives it back. filelock asks again
every 50 ms, which nobody notices at what is guarded here: a mirror copied, an environment built, a reply paid for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident

from filelock import FileLock, Timeout


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock file; it is left behind for the next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        yield


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of `path`: no reader sees half of it, and whoever else writes it at
    the same time, another thread of this process as well, has a file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        yield half
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


@contextmanager
def briefly_alone(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock file that goes with its work; gives whether it is held, which is certain with `wait`.

    It is removed while it is held: whoever waited for it finds that out and takes a new one.
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
