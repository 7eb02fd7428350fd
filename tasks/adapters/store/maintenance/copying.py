"""`swt store copy`: all rows and kept files of one store in another place, held against each other byte for byte.

Files are copied and not rows: a row's part, and which write counts, are in the file's name and bytes, and a copy that
wrote them anew would have to prove that it changed neither. What can be made again (`judged`) and what is of one
machine (locks, calls under way) stays behind.

    files, replies ─► facts ─► other tables ─► run      a killed copy has no run whose facts it lacks

TO is empty, or each of its files is one of FROM with the same bytes: anything else is refused before a byte is written.
So running it again finishes what a kill left, adds what FROM was given since, and never takes a row away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from tasks.adapters.store.files.address import shown
from tasks.adapters.store.files.disk import TEMPORARY, Disk, open_disk
from tasks.adapters.store.files.layout import FACTS
from tasks.adapters.store.files.quarantine import TORN
from tasks.adapters.store.maintenance.health import is_whole
from tasks.domain.errors import BadInput, NotFound, StoreError
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

Result = TypeVar("Result")
ORDER: tuple[tuple[str, ...], ...] = (
    ("files", "replies"),
    tuple(map(table_name, FACTS)),
    tuple(table_name(row_type) for row_type in TABLES if row_type is not Run and row_type not in FACTS),
    (table_name(Run),),
)
"""Folders, in the order in which they are copied."""
AT_ONCE = 16
"""Requests: a small file on S3 is all latency."""
COPYING = ".copying"
"""In TO while it is not whole: JSON with the place that it is a copy of."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What one copy did. Both places hold the same files when it is made."""

    copied: int
    there: int
    """Files that TO had already."""
    size: int
    """Bytes copied."""
    damaged: tuple[str, ...]
    """Kept files whose content is not what their name says, in FROM and so in TO."""


def copy(source: str, target: str) -> Copied:
    """Copy the store at one path or URL to another. `NotFound` where there is no store, `BadInput` where TO is FROM or
    has something else, `StoreError` where TO gives back other bytes than were written."""
    near, far = open_disk(source), open_disk(target)
    if near.url == far.url:
        raise BadInput(f"{shown(source)} is both places", hint="swt store copy FROM TO")
    if not any(near.paths(folder) for folders in ORDER for folder in folders):
        raise NotFound(f"there is no store at {shown(source)}", hint="give its folder or URL, as in SWT_STORE")
    with near.lock(exclusive=True, name=".compaction"), far.lock(exclusive=True, name=".compaction"):
        return _copy(near, far)


def _copy(near: Disk, far: Disk) -> Copied:
    # Runs are listed before their facts, as readers do: a run that is written meanwhile is not in the list.
    listed = {folder: _paths(near, folder) for folders in reversed(ORDER) for folder in folders}
    held = _held(near, far, listed)
    far.write(COPYING, json.dumps({"from": near.url}).encode())
    done, size = 0, 0
    for folders in ORDER:
        missing = [path for folder in folders for path in listed[folder] if path not in held]
        size += sum(_each(lambda path: _bring(near, far, path), missing))
        done += len(missing)
    _same_lists(far, listed)
    whole = _each(lambda path: is_whole(far, path), listed["files"])
    damaged = tuple(path for path, good in zip(listed["files"], whole, strict=True) if not good)
    far.delete(COPYING)
    return Copied(done, len(held), size, damaged)


def _held(near: Disk, far: Disk, listed: dict[str, tuple[str, ...]]) -> frozenset[str]:
    """The paths that TO has, all of them with FROM's bytes."""
    there = [path for folder in listed for path in _paths(far, folder)]
    foreign = sorted(set(there) - {path for paths in listed.values() for path in paths})
    same = dict(zip(there, _each(lambda path: _is_same(near, far, path), [] if foreign else there), strict=False))
    changed = [path for path, equal in same.items() if not equal]
    # In a copy that was not finished, a file that FROM was written anew since is brought again.
    if other := foreign or (changed if far.size(COPYING) is None else []):
        hint = "copy to an empty place; a compacted store is a new one to a copy that was made before"
        raise BadInput(f"{far.url} has rows of its own: {len(other)} files, the first is {other[0]}", hint=hint)
    return frozenset(there) - set(changed)


def _is_same(near: Disk, far: Disk, path: str) -> bool:
    return near.size(path) == far.size(path) and near.read(path) == far.read(path)


def _bring(near: Disk, far: Disk, path: str) -> int:
    """Copy one file and read it back; its bytes."""
    data = near.read(path)
    far.write(path, data)
    if far.read(path) != data:
        raise StoreError(f"{path} in {far.url} is not what was written", hint="run the same command again")
    return len(data)


def _same_lists(far: Disk, listed: dict[str, tuple[str, ...]]) -> None:
    for folder, paths in listed.items():
        if apart := set(paths) ^ set(_paths(far, folder)):
            hint = "somebody else writes there: run it again when nobody does"
            raise StoreError(f"{far.url} is no copy: {len(apart)} files differ, one is {min(apart)}", hint=hint)


def _paths(disk: Disk, folder: str) -> tuple[str, ...]:
    return tuple(path for path in disk.paths(folder) if not path.endswith((TEMPORARY, TORN)))


def _each(work: Callable[[str], Result], paths: Sequence[str]) -> list[Result]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, paths))
