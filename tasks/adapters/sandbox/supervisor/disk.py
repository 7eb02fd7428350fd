"""How many bytes a job has added to the folders that it may write; a file weighs at least what its inode stands for."""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH115, PTH116, PTH208

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress

BLOCK = 512
INODE = 16 << 10
"""ext4 makes one inode for so many bytes of disk: who writes empty files uses the disk up as well, of all of us."""
SHARE = 20
"""At most one part in so many of the time is spent on counting."""


def used(roots: Iterable[str]) -> int:
    """Bytes below the folders, hard links counted once, nothing followed: what is allocated, and `INODE` at least."""
    total = 0
    shared: dict[tuple[int, int], int] = {}
    waiting = list(roots)
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                total += _count(entry, waiting, shared)
    return total + sum(shared.values())


def _count(entry: os.DirEntry[str], folders: list[str], shared: dict[tuple[int, int], int]) -> int:
    """Bytes of one entry; a folder is noted for later, a file of several names in `shared`."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return 0
    size = max(facts.st_blocks * BLOCK, INODE)
    if stat.S_ISDIR(facts.st_mode):
        folders.append(entry.path)
    elif facts.st_nlink > 1:
        shared[facts.st_dev, facts.st_ino] = size
        return 0
    return size


def unlinked(pids: Iterable[int]) -> int:
    """Allocated bytes of files that the processes hold open although their names are gone."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                _note_unlinked(f"/proc/{pid}/fd/{name}", sizes)
    return sum(sizes.values())


def _note_unlinked(path: str, sizes: dict[tuple[int, int], int]) -> None:
    with suppress(OSError):
        if os.readlink(path).endswith(" (deleted)"):
            facts = os.stat(path)
            if facts.st_nlink == 0:
                sizes[facts.st_dev, facts.st_ino] = facts.st_blocks * BLOCK


class DiskMeter:
    """Tells when a job has added more than `limit` bytes below `roots`.

    Counting a tree is slow, asking a file system for its free bytes and inodes is not: the tree is counted when they
    have fallen by an eighth of the limit since the last count, and now and then without a reason.
    """

    def __init__(self, roots: tuple[str, ...], limit: int) -> None:
        self.roots = roots
        self.limit = limit
        began = time.monotonic()
        self.baseline = used(roots)
        self._counted(began)

    def over(self, pids: Iterable[int]) -> bool:
        """Whether the limit is passed, as far as is worth knowing at this moment."""
        fallen = any(before - now > self.limit // 8 for before, now in zip(self._free, self._free_bytes(), strict=True))
        return (fallen or time.monotonic() >= self._due) and self.added(pids) > self.limit

    def added(self, pids: Iterable[int]) -> int:
        """Bytes added since the start, counted now."""
        began = time.monotonic()
        total = used(self.roots) + unlinked(pids) - self.baseline
        self._counted(began)
        return total

    def _counted(self, began: float) -> None:
        now = time.monotonic()
        self._due = now + max(1.0, SHARE * (now - began))
        self._free = self._free_bytes()

    def _free_bytes(self) -> list[int]:
        free = []
        for root in self.roots:
            facts = os.statvfs(root)
            free += [facts.f_bfree * facts.f_frsize, facts.f_ffree * INODE]
        return free
