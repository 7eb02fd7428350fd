"""Renames files that cannot be read, so that one bad file does not block reading the others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tasks.adapters.store.files.disk import Disk, Entry
from tasks.adapters.store.files.parquet_format import complaint
from tasks.adapters.store.files.provenance import version_of
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

TORN = ".torn"
"""Suffix of quarantined files. They are never deleted."""
LOOKED = ".looked"
"""Note with the time of the last full check and a digest of the table declarations. A file unchanged since that time
needs no new check."""
CLOCKS_S = 60.0
"""Maximum clock difference between writers, in seconds: younger files are checked again."""
ENOUGH = 20
"""Number of new files that justifies a new note."""
READERS = 8
"""Number of files checked in parallel."""
UNREADABLE = ("torn", "foreign")
"""Kinds of problems that keep rows from being read."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem of the store."""

    kind: str
    """`torn`, `foreign`, `stray`, `leftover`, `quarantined`, `orphan`, `incomplete`, `missing-log`, `torn-log`,
    `stale` or `misjudged`."""
    where: str
    """Path below the root, or `<table> <key>`."""
    detail: str


File = tuple[type[Any], Entry]


def listed(disk: Disk) -> list[File]:
    """Return every file in the folders of the tables."""
    with ThreadPoolExecutor(READERS) as pool:
        found = zip(TABLES, pool.map(disk.files, map(table_name, TABLES)), strict=True)
        return [(row_type, entry) for row_type, entries in found for entry in entries]


def complaints(disk: Disk, files: Iterable[File], *, pages: bool = False) -> tuple[Problem, ...]:
    """Return the Parquet files that cannot belong to their table, by magic number and footer.

    With `pages`, also verifies the checksum of every page.
    """

    def said(file: File) -> str:
        row_type, entry = file
        return complaint(disk, entry.path, row_type, pages=pages)

    looked_at = [file for file in files if file[1].path.endswith(".parquet")]
    with ThreadPoolExecutor(READERS) as pool:  # in an object store, nearly all time is waiting
        texts = zip(looked_at, pool.map(said, looked_at), strict=True)
        return tuple(_problem(entry.path, text) for (_, entry), text in texts if text)


def quarantine(disk: Disk) -> tuple[Problem, ...]:
    """Rename unreadable files to `*.torn`; return the problems of the renamed files."""
    return _aside(disk, complaints(disk, listed(disk)))


def quarantine_new(disk: Disk) -> tuple[Problem, ...]:
    """`quarantine` for files that changed since the last check: 1,300 footers take half a CPU second.

    If a file system reports no change time, checks all files.
    """
    begun, since = time.time(), _looked_at(disk)
    young = [file for file in listed(disk) if not file[1].changed or file[1].changed >= since]
    moved = _aside(disk, complaints(disk, young))
    if len(young) > ENOUGH:
        with suppress(OSError):  # a read-only store is checked completely each time
            disk.write(LOOKED, json.dumps({"tables": version_of("tasks.domain"), "at": begun - CLOCKS_S}).encode())
    return moved


def _aside(disk: Disk, found: tuple[Problem, ...]) -> tuple[Problem, ...]:
    kinds = {table_name(row_type): row_type for row_type in TABLES}
    return tuple(problem for problem in found if _move_aside(disk, problem.where, kinds))


def _looked_at(disk: Disk) -> float:
    """Return the time of the last full check in seconds since the epoch; 0 without one for the current tables."""
    try:
        note = json.loads(disk.read(LOOKED))
        return float(note["at"]) if note["tables"] == version_of("tasks.domain") else 0.0
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _move_aside(disk: Disk, path: str, kinds: dict[str, type[Any]]) -> bool:
    """Move a file aside if it is still bad under the exclusive lock; return whether it was moved."""
    with disk.lock(exclusive=True):
        if not complaint(disk, path, kinds[path.partition("/")[0]]):
            return False
        disk.rename(path, _free_name(disk, path))
    return True


def _free_name(disk: Disk, path: str) -> str:
    name, number = path + TORN, 1
    while disk.size(name) is not None:
        number += 1
        name = f"{path}.{number}{TORN}"
    return name


def _problem(path: str, text: str) -> Problem:
    kind = "foreign" if text.startswith("foreign") else "torn"
    return Problem(kind, path, text.removeprefix(f"{kind}: "))
