"""One at a time: between the threads of a process, between processes, and between machines.

On one machine the kernel holds a lock file (`flock`, through filelock), so the death of its owner gives it back.
filelock asks again every 50 ms, which nobody notices at what is guarded here: a mirror copied, an environment built, a
reply paid for. Machines that work together (`SWT_LEASES`) take a lease in PostgreSQL besides, under a name that they
all know.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from filelock import FileLock, Timeout

from tasks.adapters.coordination.leases import Lease, used
from tasks.domain.names import file_name

PLACE = ".place"
"""File with a name of its folder that machines agree on, whatever they mount it as."""


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock file; it is left behind for the next. Machines that share its folder take turns as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        if leases := used():
            with leases.lease(f"{place_of(path.parent)}/{path.name}", wait=True):
                yield
        else:
            yield


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of `path`: no reader sees half of it, and whoever else writes it at
    the same time, another thread or container as well, has a file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
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


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to do one thing: nobody else does it meanwhile."""

    lease: Lease | None
    """Null on a machine that works alone, where a claim cannot be lost."""

    def confirmed(self) -> bool:
        """Whether nobody took it over, which happens to who stands still."""
        return self.lease is None or self.lease.confirmed()


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims on what a store is to hold, under names: a run, a model call, a piece of work."""

    folder: Path
    """Of lock files, which go with their work."""
    scope: str
    """What the store is called in leases."""

    @contextmanager
    def claim(self, name: str, *, wait: bool, patience_s: float = 0.0) -> Iterator[Claim | None]:
        """The claim; null where somebody else has it, which cannot be with `wait`.

        With `patience_s` somebody who stands still keeps it for so long, if his connection to the database stands.
        """
        if leases := used():
            # No lock file besides: on a shared folder it would be held for as long as its owner stands still.
            with leases.lease(f"{self.scope}/{name}", wait=wait, patience_s=patience_s) as lease:
                yield Claim(lease) if lease else None
        else:
            with briefly_alone(self.folder / f"{file_name(name)}.lock", wait=wait) as held:
                yield Claim(None) if held else None


@lru_cache(maxsize=256)
def place_of(folder: Path) -> str:
    """A folder's own name, drawn when it is first asked for."""
    file = folder / PLACE
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        drawn = file.with_name(f"{PLACE}.{secrets.token_hex(8)}")
        drawn.write_text(secrets.token_hex(16))
        with suppress(FileExistsError):  # two names of one folder would let two in
            os.link(drawn, file)
        drawn.unlink()
    return file.read_text()
