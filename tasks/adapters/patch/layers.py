"""The upper layer of an overlay, changed from outside while nothing is mounted.

A file that the upper layer lacks is the base's; one that must not be there is a *whiteout*, a character device 0/0
(kernel documentation: filesystems/overlayfs). Linux 5.8 lets everybody make one.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FIXED_MTIME = 1_600_000_000
"""Every file of a tree has this time, also a patched one: nothing can tell the states apart by the clock."""

_NOTHING = os.makedev(0, 0)


@contextmanager
def lifted(base: Path, upper: Path, paths: Iterable[str]) -> Iterator[None]:
    """While the block runs, `upper` by itself has at `paths`, and on the way there, what it and `base` have together.

    Paths are relative, without links or `..` of their own (`paths.py` refuses others).
    """
    wanted = tuple(paths)
    for path in wanted:
        _lift(base, upper, path)
    try:
        yield
    finally:
        for path in wanted:
            _hide(base, upper, path)


def is_whiteout(path: Path) -> bool:
    """Whether an upper layer says with it that there is nothing."""
    try:
        facts = path.lstat()
    except OSError:
        return False
    return stat.S_ISCHR(facts.st_mode) and facts.st_rdev == _NOTHING


def _lift(base: Path, upper: Path, path: str) -> None:
    """Copy what is missing on the way to `path`, as far as folders lead there; what is hidden stays away."""
    for name in _ways(path):
        here, below = upper / name, base / name
        if is_whiteout(here):
            here.unlink()
            break
        if not os.path.lexists(here):
            if not os.path.lexists(below):
                break
            _copy(below, here)
        if here.is_symlink() or not here.is_dir():
            break
    _age(upper, path)


def _copy(below: Path, here: Path) -> None:
    """One entry with its mode and time; of a folder nothing that is in it.

    A job sees when a file of the base was last read. Were the copying to count, the files of one run's patch would be
    known in the next.
    """
    if below.is_symlink():
        shutil.copy2(below, here, follow_symlinks=False)
    elif not below.is_dir():
        with open(below, "rb", opener=_unnoticed) as source, here.open("wb") as target:
            shutil.copyfileobj(source, target)
        shutil.copystat(below, here)
    else:
        here.mkdir()
        shutil.copystat(below, here)


def _unnoticed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOATIME)


def _hide(base: Path, upper: Path, path: str) -> None:
    """A whiteout where `base` has a file that `upper` has no more."""
    here = upper / path
    if os.path.lexists(base / path) and not os.path.lexists(here):
        with suppress(FileNotFoundError, NotADirectoryError):
            os.mknod(here, stat.S_IFCHR, _NOTHING)
    _age(upper, path)


def _age(upper: Path, path: str) -> None:
    """Folders on the way to `path` are as old as everything else."""
    for folder in (upper, *(upper / name for name in _ways(path)[:-1])):
        if folder.is_dir() and not folder.is_symlink():
            os.utime(folder, (FIXED_MTIME, FIXED_MTIME))


def _ways(path: str) -> list[str]:
    """`a/b/c` → `a`, `a/b`, `a/b/c`."""
    parts = path.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
