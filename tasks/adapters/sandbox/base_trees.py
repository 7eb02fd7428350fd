"""Cached trees of commits, which are the lower layers of jobs in several commands.

Unpacking and removing Django for the two runs of a candidate took 0.3 CPU s, as much as all our other work. No job can
write a base (`supervisor/overlay.py`), so it stays unchanged for the next command.

A user of a base holds a shared `flock` on it, which the kernel releases when the holder dies; filelock has no shared
locks. Only unlocked bases are removed. Names contain the boot id: after a power loss, a file may have lost its content.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tasks.adapters.sandbox.label import PREFIX
from tasks.adapters.sandbox.scratch import spare_folder, sweep_folders

MOST = 64
"""Number of cached trees, some 5 GB for Django; beyond it, the least recently used are removed."""

TREE = "tree"


@dataclass(frozen=True, slots=True)
class Bases:
    """Base trees in one folder, shared by threads and processes.

    folder/
    ├── <name>-<boot>/tree/     its mtime is the time of the last use
    └── swt-run-…/              being created or removed
    """

    folder: Path
    most: int = MOST

    @contextmanager
    def held(self, name: str, fill: Callable[[Path], None]) -> Iterator[Path]:
        """Yield the tree `name`, locked against removal while the block runs.

        `fill` creates a missing tree in a folder that does not exist yet. Its errors propagate, and nothing is cached.
        """
        place = self.folder / f"{name}-{_boot()}"
        while (held := _take(place)) is None:
            self._make(place, fill)
        try:
            yield place / TREE
        finally:
            os.close(held)

    def _make(self, place: Path, fill: Callable[[Path], None]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_room()
        with spare_folder(self.folder) as spare:
            made = spare / "made"
            made.mkdir()
            fill(made / TREE)
            try:
                made.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process was first
                    raise

    def kept(self) -> list[Path]:
        """Return the folders of all existing trees, unsorted."""
        return [path for path in self.folder.glob("*") if not path.name.startswith(PREFIX)]

    def _make_room(self) -> None:
        sweep_folders(self.folder)
        kept = sorted(self.kept(), key=_used)
        for path in kept[: max(0, len(kept) - self.most + 1)]:
            self._drop(path)

    def _drop(self, place: Path) -> None:
        """Remove an unlocked tree. After the rename, other processes find no tree and create a new one."""
        with suppress(OSError), _opened(place) as found:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with spare_folder(self.folder) as spare:
                place.rename(spare / "dropped")


def _take(place: Path) -> int | None:
    """Lock `place` for shared use and return the descriptor; None if it does not exist (any more)."""
    try:
        found = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(found), place.stat()):
            os.utime(found)
            return found
    except FileNotFoundError:
        pass
    os.close(found)
    return None


@contextmanager
def _opened(place: Path) -> Iterator[int]:
    found = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield found
    finally:
        os.close(found)


def _used(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip().partition("-")[0]
    except FileNotFoundError:
        return "any"
