"""Answers that are kept: the same question over the same files has the same answer, whichever process asks.

To read the files of thirty instances and judge them takes two CPU seconds, to see that no file is another one 0.03.
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
"""Two writes under one name may share a tick of the clock; a file that is older than this can be told from the next."""
BASIS = b"swt.basis"
NOT_ASKED = (FlowRound, Undone)
"""Every command writes these; a kept answer is about none of them."""


def kept_answers(
    store_root: str, sql: Path, names: Sequence[str], statements: Sequence[str], folder: Path
) -> tuple[pa.Table, ...]:
    """`answers` to questions that need none of `NOT_ASKED`, from `folder` where the store's files, the definitions and
    the statements are what they were.

    There are never more than 256 files: a later question takes the place of an earlier one now and then. Nothing is
    kept of a store that does not tell when a file was changed.
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
    """The files, listed when a later write would look different."""
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
    """Null where something else is there, or nothing."""
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
