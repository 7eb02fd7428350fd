"""Walks and removes folders of any depth, by descriptors: a path of more than 4,096 bytes cannot be opened by its name.

One descriptor is open at a time. Symbolic links are never followed. Standard library only, and quick to import.
"""

# Importing pathlib would slow the start of every run.
# ruff: noqa: PTH101, PTH106, PTH116

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""A folder that was removed, or replaced by a file or a link, since its parent was listed."""

REMOVAL_S = 120.0
"""ext4 removed 50,000 nested folders in 74 s, and 6,000 in 2, on a busy disk; in memory in 1.5 s."""

Visit = Callable[[int], Iterable[str]]
"""Gets the descriptor of a folder, returns the names of the folders below it that are to be visited."""


class FolderMoved(OSError):
    """Another process moved a folder elsewhere while it was visited: the walk cannot find its way back."""


class _Level(NamedTuple):
    name: str
    identity: tuple[int, int]
    waiting: list[str]


def walk(
    root: str | os.PathLike[str],
    visit: Visit,
    leave: Callable[[int, str], object] = lambda _folder, _name: None,
    open_folder: Callable[[int | None, str], int] = lambda parent, name: os.open(name, OPEN, dir_fd=parent),
) -> None:
    """Visit `root` and all folders below it, parents first.

    `leave` gets the descriptor of the parent and the name of each folder below `root` whose folders were all visited.
    Raises `FolderMoved`, and `OSError` where a folder cannot be opened; folders that are gone meanwhile are left out.
    """
    here = open_folder(None, os.fspath(root))
    try:
        levels = [_Level("", _identity(here), list(visit(here)))]
        while True:
            if levels[-1].waiting:
                name = levels[-1].waiting.pop()
                try:
                    below = open_folder(here, name)
                except OSError as error:
                    if error.errno not in GONE:
                        raise
                    continue
                here = _replace(here, below)
                levels.append(_Level(name, _identity(here), list(visit(here))))
                continue
            left = levels.pop()
            if not levels:
                return
            here = _replace(here, os.open("..", OPEN, dir_fd=here))
            if _identity(here) != levels[-1].identity:
                raise FolderMoved(errno.ESTALE, "a folder was moved while it was visited", left.name)
            leave(here, left.name)
    finally:
        os.close(here)


def _replace(old: int, new: int) -> int:
    os.close(old)
    return new


def _identity(folder: int) -> tuple[int, int]:
    facts = os.fstat(folder)
    return facts.st_dev, facts.st_ino


def remove(folder: str | os.PathLike[str], within_s: float = REMOVAL_S) -> bool:
    """Remove a folder that foreign code could write: any depth, unreadable folders included, nothing followed.

    Returns whether it is gone. What cannot be removed stays, and so does what is mounted below, or what is left when
    the time is over. The one function for trees that jobs and agents make: `shutil.rmtree` raises `RecursionError`
    below some 990 levels, and leaves folders of mode 0.
    """
    with suppress(OSError):
        removal = _Removal(os.stat(folder, follow_symlinks=False).st_dev, time.monotonic() + within_s)
        walk(folder, removal.empty, removal.remove_folder, open_unreadable)
        os.rmdir(folder)
    return not os.path.lexists(folder)


class _Removal(NamedTuple):
    device: int
    deadline: float

    def empty(self, folder: int) -> list[str]:
        """Remove the files of a folder; the names of the folders below it, unless it is on another device."""
        facts = os.fstat(folder)
        if facts.st_dev != self.device:
            return []
        if facts.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            with suppress(OSError):
                os.fchmod(folder, stat.S_IRWXU)
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    self._check_time()
                    with suppress(OSError):
                        os.unlink(entry.name, dir_fd=folder)
        return folders

    def remove_folder(self, parent: int, name: str) -> None:
        self._check_time()
        with suppress(OSError):
            os.rmdir(name, dir_fd=parent)

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise TimeoutError(errno.ETIMEDOUT, "the removal takes too long")


def open_unreadable(parent: int | None, name: str) -> int:
    """Open a folder, after giving its owner the right to where that is missing."""
    try:
        return os.open(name, OPEN, dir_fd=parent)
    except PermissionError:
        found = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{found}", stat.S_IRWXU)  # the name could have become a link meanwhile
            return os.open(f"/proc/self/fd/{found}", OPEN & ~os.O_NOFOLLOW)
        finally:
            os.close(found)
