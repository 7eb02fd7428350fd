"""Moving aside what is not a file of its table, so that one bad file never stops the others from being read."""

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
"""When all files were last looked at, and against which tables. A file that has not changed since is no other now."""
CLOCKS_S = 60.0
"""So far the clocks of several writers may be apart: younger files are looked at again."""
ENOUGH = 20
"""So many new files are worth another note."""
READERS = 8
"""Files that are looked at at a time."""
UNREADABLE = ("torn", "foreign")
"""Kinds of problems that keep rows from being read."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something that is wrong in the store."""

    kind: str
    """`torn`, `foreign`, `stray`, `leftover`, `quarantined`, `orphan`, `incomplete`, `missing-log`, `torn-log`."""
    where: str
    """Path below the root, or `<table> <key>`."""
    detail: str


File = tuple[type[Any], Entry]


def listed(disk: Disk) -> list[File]:
    """Everything in the folders of the tables."""
    with ThreadPoolExecutor(READERS) as pool:
        found = zip(TABLES, pool.map(disk.files, map(table_name, TABLES)), strict=True)
        return [(row_type, entry) for row_type, entries in found for entry in entries]


def complaints(disk: Disk, files: Iterable[File], *, pages: bool = False) -> tuple[Problem, ...]:
    """Parquet files that cannot be part of their tables, judged by their magic and footer; with `pages`, also those of
    which a page does not have its checksum."""

    def said(file: File) -> str:
        row_type, entry = file
        return complaint(disk, entry.path, row_type, pages=pages)

    looked_at = [file for file in files if file[1].path.endswith(".parquet")]
    with ThreadPoolExecutor(READERS) as pool:  # in an object store, nearly all of the time is spent waiting
        texts = zip(looked_at, pool.map(said, looked_at), strict=True)
        return tuple(_problem(entry.path, text) for (_, entry), text in texts if text)


def quarantine(disk: Disk) -> tuple[Problem, ...]:
    """Rename such files to `*.torn`; what was renamed."""
    return _aside(disk, complaints(disk, listed(disk)))


def quarantine_new(disk: Disk) -> tuple[Problem, ...]:
    """`quarantine` for files that have changed since it was last done: 1,300 footers take half a CPU second.

    Where a file system does not tell when a file was changed, all are looked at.
    """
    begun, since = time.time(), _looked_at(disk)
    young = [file for file in listed(disk) if not file[1].changed or file[1].changed >= since]
    moved = _aside(disk, complaints(disk, young))
    if len(young) > ENOUGH:
        with suppress(OSError):  # a store that cannot be written is looked at as a whole
            disk.write(LOOKED, json.dumps({"tables": version_of("tasks.domain"), "at": begun - CLOCKS_S}).encode())
    return moved


def _aside(disk: Disk, found: tuple[Problem, ...]) -> tuple[Problem, ...]:
    kinds = {table_name(row_type): row_type for row_type in TABLES}
    return tuple(problem for problem in found if _move_aside(disk, problem.where, kinds))


def _looked_at(disk: Disk) -> float:
    """Seconds since the epoch; 0 where nobody has looked with the tables of now."""
    try:
        note = json.loads(disk.read(LOOKED))
        return float(note["at"]) if note["tables"] == version_of("tasks.domain") else 0.0
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _move_aside(disk: Disk, path: str, kinds: dict[str, type[Any]]) -> bool:
    """Whether the file was still bad when nobody could write it."""
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
