"""DuckDB connections of the project: in UTC, and with no download of extensions.

An object store is read by the same pyarrow file system that writes it, handed to DuckDB through fsspec. DuckDB's own
`httpfs` would have to be downloaded (there is no wheel of it for DuckDB 2.0) and told endpoint, region and keys again.
Ranges are read, so columns and row groups that a question does not need stay where they are.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.disk import ObjectDisk, again_where_cut_off, opened
from tasks.domain.errors import StoreError

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "enable_external_file_cache": False,
    "memory_limit": "1GB",
    "temp_directory": f"{tempfile.gettempdir()}/swt-duckdb",
}
"""What does not fit into the memory goes to the temporary folder: without a limit DuckDB takes four fifths of the
machine's, and a question beside test runs would starve them. No question needs more (benchmarks/questions.py)."""
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def connected(database: Path | None = None, *, store: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in memory, or one to a database file that it cannot change. With a store's URL it reads that."""
    with duckdb.connect(database or ":memory:", read_only=database is not None, config=SETTINGS) as connection:
        settle(connection)
        connection.execute("SET parquet_metadata_cache = true")  # each file is opened once per view
        reach(connection, store)
        yield connection


@contextmanager
def for_one_question(store: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one question over files; it may register tables, and is to create nothing that stays.

    All of a process share one database in memory: making one takes twenty times as long as connecting to it. So it
    remembers nothing of a file: whether a file is still the same it tells by a time that two writes may share.
    An object store has a database of its own each time: two of them may have the same scheme.
    """
    with _ONE_AT_A_TIME:
        connection = duckdb.connect(":memory:", config=SETTINGS) if "://" in store else _shared().cursor()
    with connection:
        settle(connection)
        reach(connection, store)
        yield connection


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config=SETTINGS)


def reach(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Let a connection read the object store with this URL, as this process opened it."""
    if "://" not in store:
        return
    disk = opened(store)
    if disk is None:
        raise StoreError(f"{store} was not opened", hint="name it with its endpoint and keys: SWT_STORE")
    connection.register_filesystem(as_fsspec(disk))


def as_fsspec(disk: ObjectDisk) -> Any:
    from fsspec.implementations.arrow import ArrowFSWrapper  # takes 80 ms, and only object stores need it

    class Reached(ArrowFSWrapper):  # type: ignore[misc]
        protocol = disk.url.partition("://")[0]
        cachable = False  # fsspec would give the one of an earlier store

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.partition("://")[2] or path  # its own reading takes the bucket of most schemes for a host

        def _open(self, path: str, *_: Any, **__: Any) -> PlaceOfEachThread:
            return PlaceOfEachThread(disk.open(path.removeprefix(f"{disk.base}/")))

    return Reached(disk.system)


class PlaceOfEachThread(RawIOBase):
    """A file to read in which each thread has a place of its own.

    DuckDB seeks and then reads, on several threads at once: with one place for all a thread is given what another one
    asked for (fsspec's `ArrowFile`, DuckDB 2.0).
    """

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        self._size = file.size()
        self._here = threading.local()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(getattr(self._here, "place", 0))

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._here.place = offset + {SEEK_SET: 0, SEEK_CUR: self.tell(), SEEK_END: self._size}[whence]
        return self.tell()

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self.tell())
        data = self._read_at(left if size is None or size < 0 else min(size, left))
        self.seek(len(data), SEEK_CUR)
        return data

    @again_where_cut_off
    def _read_at(self, size: int) -> bytes:
        return bytes(self._file.read_at(size, self.tell()))

    def close(self) -> None:
        self._file.close()
        super().close()


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """What cannot be set when a connection is made."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # an answer may be piped
