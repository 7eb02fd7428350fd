"""What a method changed in its checkout, found by looking at files: nothing that it left there is trusted or run.

(`git diff` in a checkout that untrusted commands could write would run what they put into its configuration.)
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tasks.adapters.patch.apply import ReadBase
from tasks.adapters.patch.layers import FIXED_MTIME
from tasks.adapters.patch.paths import too_long
from tasks.adapters.patch.read import to_text
from tasks.adapters.patch.render import Change

LEFTOVERS = frozenset(
    {".git", "__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", ".tox", ".eggs", ".coverage"}
)
"""Names of what running code leaves behind; never part of a candidate."""
LEFTOVER_SUFFIXES = (".pyc", ".pyo", ".egg-info", ".orig", ".rej")
MAX_BYTES = 1 << 20
"""Larger files are no tests."""


def changes_in(checkout: Path, base_paths: frozenset[str], base: ReadBase, skip: frozenset[str]) -> tuple[Change, ...]:
    """Text files that are new, other or gone. A file with the time that every fresh tree has is not read at all."""
    seen: set[str] = set()
    changes = []
    for path, facts in _files(checkout):
        seen.add(path)
        fresh = path in base_paths and facts.st_mtime == FIXED_MTIME
        if path in skip or fresh or not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
            continue
        change = _change(path, base(path) if path in base_paths else None, _bytes_of(checkout / path))
        if change is not None:
            changes.append(change)
    for path in sorted(base_paths - seen):
        data = base(path)
        if data is not None and not _leftover(path) and b"\0" not in data:
            changes.append(Change(path=path, before=to_text(data), after=None))
    return tuple(changes)


def _change(path: str, before: bytes | None, after: bytes) -> Change | None:
    if after == before or b"\0" in after or (before is not None and b"\0" in before):
        return None
    return Change(path=path, before=None if before is None else to_text(before), after=to_text(after))


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every file and link below `root`, links not followed, leftovers and paths that no patch may hold left out."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(readable(root / folder)) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if _leftover(entry.name) or too_long(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                else:
                    yield path, entry.stat(follow_symlinks=False)


def readable(path: Path) -> Path:
    """The path of a file or folder, which its owner may read from now on, whatever mode a command left it in."""
    facts = path.lstat()
    needed = stat.S_IRWXU if stat.S_ISDIR(facts.st_mode) else stat.S_IRUSR
    if facts.st_mode & needed != needed and not stat.S_ISLNK(facts.st_mode) and os.geteuid() == facts.st_uid:
        path.chmod(stat.S_IMODE(facts.st_mode) | needed)
    return path


def _bytes_of(path: Path) -> bytes:
    return readable(path).read_bytes()


def _leftover(path: str) -> bool:
    parts = path.split("/")
    return not LEFTOVERS.isdisjoint(parts) or any(part.endswith(LEFTOVER_SUFFIXES) for part in parts)
