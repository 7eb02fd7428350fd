"""Encodes Parquet files of the store, stamps each write, and checks whether a file can be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.adapters.store.files.disk import Disk, Entry
from tasks.adapters.store.files.layout import PART, SCHEMA_FOLDER
from tasks.adapters.store.files.schema import arrow_schema, columns
from tasks.domain.table import table_name

SOURCES = b"swt.sources"
"""Metadata key of a pack: JSON list of the paths and stamps of the files that it replaces."""

STAMP = b"swt.part"
"""Metadata key of every data file: distinguishes two writes to one path."""

MAGIC = b"PAR1"
WRITING: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a pack merged. The path alone would also match a later write under the same name."""

    path: str
    stamp: str


def stored_schema(row_type: type[Any]) -> pa.Schema:
    """Return the schema of a table's files: the domain's columns and the hidden part column."""
    return arrow_schema(row_type).append(pa.field(PART, pa.string()))


def stamped(table: pa.Table, part: str) -> pa.Table:
    """Add the hidden part column and remove descriptions, which would double the size of a small file."""
    hidden = pa.array([part] * table.num_rows, pa.string())
    fields = [field.remove_metadata() for field in table.schema] + [pa.field(PART, pa.string())]
    schema = pa.schema(fields, metadata={STAMP: part.encode()})
    return pa.Table.from_arrays([*table.columns, hidden], schema=schema)


def parquet_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **WRITING)
    return bytes(sink.getvalue())


def content_hash(tables: Sequence[pa.Table]) -> str:
    """Return 16 hexadecimal digits that are equal for equal rows."""
    digest = hashlib.sha256()
    for table in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        digest.update(sink.getvalue())
    return digest.hexdigest()[:16]


def metadata(disk: Disk, path: str) -> pq.FileMetaData:
    """Return the footer. Raises `ArrowInvalid` or `OSError` if the file is torn."""
    with disk.source(path) as source:
        return pq.read_metadata(source)


def stamp_of(disk: Disk, path: str) -> str:
    """Return the stamp of a file; empty if this project did not write it."""
    return str((metadata(disk, path).metadata or {}).get(STAMP, b"").decode())


def sources_of(disk: Disk, path: str) -> tuple[Source, ...]:
    """Return the files that a pack replaces."""
    found = (metadata(disk, path).metadata or {}).get(SOURCES, b"[]")
    return tuple(Source(*pair) for pair in json.loads(found))


def is_seed(entry: Entry) -> bool:
    """Whether the file holds only a table's schema."""
    return f"/{SCHEMA_FOLDER}/" in entry.path


def data_files(disk: Disk, row_type: type[Any]) -> list[Entry]:
    """Return the Parquet files of a table, without its seed."""
    found = disk.files(table_name(row_type))
    return [entry for entry in found if entry.path.endswith(".parquet") and not is_seed(entry)]


def complaint(disk: Disk, path: str, row_type: type[Any], *, pages: bool = False) -> str:
    """Return why the file cannot belong to the table; empty if it can.

    Reads only both ends of a good file; with `pages`, all of it, and verifies the checksums.
    """
    return _what_is_wrong(disk, path, lambda source: _complaint(source, row_type, pages=pages))


def _what_is_wrong(disk: Disk, path: str, look: Callable[[pa.NativeFile], str]) -> str:
    """Return the problem that `look` finds or the error that it raises; empty if the file no longer exists.

    A file that seems bad is read completely and checked again in memory. A failing disk or server therefore raises
    `OSError` and is not reported as a bad file.
    """
    try:
        try:
            with disk.source(path) as source:
                return look(source)
        except (pa.ArrowException, OSError):
            data = disk.read(path)
    except FileNotFoundError:
        return ""
    try:
        return look(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        return str(error).partition("\n")[0] or type(error).__name__


def _complaint(source: pa.NativeFile, row_type: type[Any], *, pages: bool) -> str:
    if source.read(len(MAGIC)) != MAGIC:
        return "it is not Parquet"
    file = pq.ParquetFile(source, page_checksum_verification=pages)
    for _ in file.iter_batches() if pages else ():
        pass
    return _mismatch(file.schema_arrow, row_type)


def _mismatch(found: pa.Schema, row_type: type[Any]) -> str:
    if PART not in found.names:
        return f"foreign: no column {PART}"
    for column in columns(row_type):
        if column.name in found.names and found.field(column.name).type != column.arrow:
            return f"foreign: {column.name} is {found.field(column.name).type}, not {column.arrow}"
    return ""
