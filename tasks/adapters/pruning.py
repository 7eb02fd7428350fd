"""What of the cache nobody has used for long: environments, trees and mirrors, which can be made again, and journals
of work that nobody went on with.

Use is told by the store (runs), and where nothing ran by the time at which a folder was made. Nothing that is in use
right now is younger than the shortest age that may be asked for.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tasks.adapters import folders

SHORTEST = timedelta(days=7)
"""Longer than any flow run may take."""
GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """One thing that may go."""

    kind: str
    """`environment`, `tree`, `mirror` or `journal`."""
    path: Path
    size: int
    """Bytes on the disk; what other folders hard-link to counts as well, and is not freed."""
    used_at: datetime
    """The last run that needed it, or when it was made."""


def free_gb(folder: Path) -> float:
    """Free space where `folder` lies, or will lie, in 10⁹ bytes."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(there).free / GB


def unused(kind: str, paths: Iterable[Path], uses: Mapping[str, datetime], before: datetime) -> tuple[Unused, ...]:
    """Those of `paths` whose last use is before `before`. `uses` maps names to the moment of their last run."""
    found = []
    for path in sorted(paths):
        made = _touched(path)
        last = max(made, uses.get(path.name, made))
        if last < before:
            found.append(Unused(kind=kind, path=path, size=size_of(path), used_at=last))
    return tuple(found)


def _touched(path: Path) -> datetime:
    """When something was last put into it: a fetch writes into a mirror and not at its root."""
    inner = path.iterdir() if path.is_dir() else ()
    return datetime.fromtimestamp(max(one.lstat().st_mtime for one in (path, *inner)), UTC)


def size_of(path: Path) -> int:
    """Bytes that a file or a folder takes on the disk; each inode once."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_blocks * 512
    seen: dict[int, int] = {}
    for one in path.rglob("*"):
        try:
            stat = one.lstat()
        except FileNotFoundError:
            continue
        seen[stat.st_ino] = stat.st_blocks * 512
    return sum(seen.values())


def remove(path: Path) -> None:
    """Take it away: a folder under another name first, so that half of it is never taken for whole."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    going = path.with_name(f".{path.name}.going")
    path.rename(going)
    folders.remove(going)
