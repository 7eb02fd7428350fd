"""Bytes and files that a job has added to the folders that it may write."""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH100, PTH115, PTH116, PTH123, PTH208

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from tasks.adapters.folders import FolderMoved, walk

BLOCK = 512
INODE = 16 << 10
"""Bytes of the disk limit for which a job may make one file or folder. ext4 makes one inode for so many bytes of disk:
a job that fills the disk with empty files fills it for every other run too."""
SHARE = 20
"""At most one part in so many of the time is spent on counting."""
ATTEMPTS = 3
"""Counts before a tree whose folders move all the time counts as one that cannot be read."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - inside
CLONE_NEWUSER = 0x10000000
DISK, FILES = "disk", "files"


class DiskUse(NamedTuple):
    """What is below some folders."""

    size_bytes: int = 0
    """Allocated bytes; those of a file with several names count once."""
    files: int = 0
    """Names of files and folders."""


class Unreadable(OSError):
    """A folder cannot be read, so its size is unknown."""


class _Full(Exception):
    """The count has passed what it may come to."""


class _Count:
    """A count under way, which ends with `_Full` above `most`."""

    def __init__(self, most: DiskUse | None) -> None:
        self.most = most
        self.size_bytes = 0
        self.files = 0
        self._linked: set[tuple[int, int]] = set()

    def visit(self, folder: int) -> list[str]:
        folders = []
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    self._add(entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
        return folders

    def _add(self, facts: os.stat_result) -> None:
        self.files += 1
        identity = facts.st_dev, facts.st_ino
        if facts.st_nlink == 1 or identity not in self._linked:
            self.size_bytes += facts.st_blocks * BLOCK
        if facts.st_nlink > 1:
            self._linked.add(identity)
        if self.most and (self.files > self.most.files or self.size_bytes > self.most.size_bytes):
            raise _Full


def used(roots: Iterable[str], most: DiskUse | None = None) -> DiskUse:
    """Returns what is below the folders, nothing followed; no more than is needed to be above `most`.

    Raises `Unreadable` if a folder cannot be read, or moves all the time. As root and as the owner in a user namespace,
    folders of any mode can.
    """
    roots = tuple(roots)
    for _ in range(ATTEMPTS):
        count = _Count(most)
        try:
            for root in roots:
                with suppress(FileNotFoundError):
                    walk(root, count.visit)
        except _Full:
            pass
        except FolderMoved:
            continue
        except PermissionError as problem:
            if os.geteuid() == 0:
                raise Unreadable(str(problem)) from problem
            return _used_as_owner(roots, most)
        except OSError as problem:
            raise Unreadable(str(problem)) from problem
        return DiskUse(count.size_bytes, count.files)
    raise Unreadable("its folders move all the time")


AS_OWNER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tasks.adapters.sandbox.supervisor.disk import main; main()"
)
PACKAGES = os.path.abspath(__file__).rsplit("/tasks/", 1)[0]


def _used_as_owner(roots: tuple[str, ...], most: DiskUse | None) -> DiskUse:
    """As `used`, by a process that may read all that belongs to this user, whatever its mode."""
    words = [*map(str, most or ()), "--", *roots]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", AS_OWNER, PACKAGES, *words], capture_output=True, text=True, check=False
    )
    numbers = done.stdout.split()
    if done.returncode or len(numbers) != 2:
        raise Unreadable((done.stderr.strip().splitlines() or ["a folder cannot be read"])[-1])
    return DiskUse(*map(int, numbers))


def main() -> None:
    """Become root of a new user namespace, which may read every file of this user, and print what is used."""
    words = sys.argv[2:]
    at = words.index("--")
    uid, gid = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "no user namespace can be made")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    print(*used(words[at + 1 :], DiskUse(*map(int, words[:at])) if at else None))


def unlinked(pids: Iterable[int]) -> DiskUse:
    """Files that the processes hold open although their names are gone."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                _note_unlinked(f"/proc/{pid}/fd/{name}", sizes)
    return DiskUse(sum(sizes.values()), len(sizes))


def _note_unlinked(path: str, sizes: dict[tuple[int, int], int]) -> None:
    with suppress(OSError):
        if os.readlink(path).endswith(" (deleted)"):
            facts = os.stat(path)
            if facts.st_nlink == 0:
                sizes[facts.st_dev, facts.st_ino] = facts.st_blocks * BLOCK


def in_shared_memory(pids: Iterable[int]) -> int:
    """Files in the /dev/shm of a sandbox; 0 where its processes see the machine's own.

    The size of that file system is limited, the number of its files is not, and each takes 1 KB of the kernel's memory.
    """
    with suppress(OSError):
        own = os.stat(SHARED_MEMORY).st_dev
        for facts in _file_systems(pids, own):
            return facts.f_files - facts.f_ffree
    return 0


def _file_systems(pids: Iterable[int], own: int) -> Iterator[os.statvfs_result]:
    """The /dev/shm of each process, but for that of the device `own`."""
    for pid in pids:
        with suppress(OSError):
            path = f"/proc/{pid}/root{SHARED_MEMORY}"
            if os.stat(path).st_dev != own:
                yield os.statvfs(path)


class DiskMeter:
    """Tells when a job has added more than `limit` bytes, or a file for each `INODE` of them, below `roots`.

    Counting a tree is slow, asking a file system for its free bytes and inodes is not: the tree is counted when they
    have fallen by an eighth of the limit since the last count, and now and then without a reason.
    """

    def __init__(self, roots: tuple[str, ...], limit: int) -> None:
        self.roots = roots
        self.limit = DiskUse(limit, max(1, limit // INODE))
        began = time.monotonic()
        before = used(roots)
        self._most = DiskUse(before.size_bytes + self.limit.size_bytes, before.files + self.limit.files)
        self._counted(began)

    def over(self, pids: Iterable[int]) -> str:
        """The limit that is passed, `disk` or `files`, as far as is worth knowing at this moment; or nothing."""
        pids = tuple(pids)
        if in_shared_memory(pids) > self.limit.files:
            return FILES
        fallen = any(
            before - now > self.limit.size_bytes // 8
            for before, now in zip(self._free, self._free_bytes(), strict=True)
        )
        return self.passed(pids) if fallen or time.monotonic() >= self._due else ""

    def passed(self, pids: Iterable[int]) -> str:
        """The limit that is passed, counted now. A tree that cannot be read passes the one of bytes."""
        began = time.monotonic()
        try:
            found, open_files = used(self.roots, self._most), unlinked(pids)
        except Unreadable:
            return DISK
        self._counted(began)
        if found.size_bytes + open_files.size_bytes > self._most.size_bytes:
            return DISK
        return FILES if found.files + open_files.files > self._most.files else ""

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
