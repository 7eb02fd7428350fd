"""Caches query results across processes: the same query over the same files has the same result.

Reading the files of 30 instances and computing their verdicts takes 2 CPU s; checking that no file changed takes 0.03.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from tasks.adapters.coordination.locks import atomic_write
from tasks.adapters.store.files.disk import Disk, Entry, open_disk
from tasks.adapters.store.files.parquet_format import data_files
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import content_key
from tasks.domain.tables import TABLES
from tasks.domain.undone import FlowRound, Undone

SETTLED_S = 0.05
"""Two writes under one name may get the same timestamp. A file older than this differs visibly from a later one."""
BASIS = b"swt.basis"
NOT_ASKED = (FlowRound, Undone)
"""Every command writes these tables; no cached query reads them."""


def kept_answers(
    store_root: str, sql: Path, names: Sequence[str], statements: Sequence[str], folder: Path
) -> tuple[pa.Table, ...]:
    """Return `answers` for queries that need no table of `NOT_ASKED`, cached in `folder`.

    A cached result is valid while the store's files, the definitions and the statements are the same. The cache has at
    most 256 files: a query may overwrite the result of another. Stores that report no change time are not cached.
    """
    disk = open_disk(store_root)
    files = _settled(disk)
    if not all(entry.changed for entry in files):
        return answers(store_root, sql, names, statements)
    said = [[path.name, path.read_text("utf-8")] for path in sorted(sql.rglob("*.sql"))]
    asked = [duckdb.__version__, said, list(statements)]
    key = _key(asked, files)
    file = folder / f"{content_key(disk.url, list(statements))[:2]}.arrow"
    found = _read(file, key)
    if found is None:
        found = answers(store_root, sql, names, statements)
        if _key(asked, _files(disk)) == key:
            _write(file, key, found)
    return found


def _files(disk: Disk) -> list[Entry]:
    return [entry for kind in TABLES if kind not in NOT_ASKED for entry in data_files(disk, kind)]


def _settled(disk: Disk) -> list[Entry]:
    """List the files, after a wait if one is so new that a later write could look the same."""
    files = _files(disk)
    youngest = max((entry.changed for entry in files), default=0.0)
    left = youngest + SETTLED_S - time.time()
    if left <= 0:
        return files
    time.sleep(min(SETTLED_S, left))
    return _files(disk)


def _key(asked: Sequence[object], files: Sequence[Entry]) -> str:
    return content_key("answers", asked, [[one.path, one.size, one.inode, one.changed] for one in files])


def _read(file: Path, key: str) -> tuple[pa.Table, ...] | None:
    """Return the cached tables. None if the file is missing or belongs to another query."""
    tables = []
    try:
        with pa.OSFile(str(file)) as source:
            while source.tell() < source.size():
                with pa.ipc.open_stream(source) as stream:
                    tables.append(stream.read_all())
    except (OSError, pa.ArrowException):
        return None
    if not tables or any((table.schema.metadata or {}).get(BASIS) != key.encode() for table in tables):
        return None
    return tuple(tables)


def _write(file: Path, key: str, tables: Sequence[pa.Table]) -> None:
    with atomic_write(file) as half, half.open("wb") as sink:
        for table in tables:
            named = table.replace_schema_metadata({BASIS: key.encode()})
            with pa.ipc.new_stream(sink, named.schema) as stream:
                stream.write_table(named)
