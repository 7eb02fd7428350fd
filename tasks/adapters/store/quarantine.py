"""Moving aside what is not a file of its table, so that one bad file never stops the others from being read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks.adapters.store.disk import Disk
from tasks.adapters.store.parquet import complaint
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

TORN = ".torn"
"""Suffix of quarantined files. They are never deleted."""
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


def complaints(disk: Disk) -> tuple[Problem, ...]:
    """Parquet files that cannot be part of their tables, judged by their magic and footer."""
    found: list[Problem] = []
    for row_type in TABLES:
        paths = [entry.path for entry in disk.files(table_name(row_type)) if entry.path.endswith(".parquet")]
        texts = [complaint(disk, path, row_type) for path in paths]
        found += [_problem(path, text) for path, text in zip(paths, texts, strict=True) if text]
    return tuple(found)


def quarantine(disk: Disk) -> tuple[Problem, ...]:
    """Rename such files to `*.torn`; what was renamed."""
    kinds = {table_name(row_type): row_type for row_type in TABLES}
    found = complaints(disk)
    return tuple(problem for problem in found if _move_aside(disk, problem.where, kinds))


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
