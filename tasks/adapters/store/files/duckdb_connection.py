"""Opens DuckDB connections: UTC, no download of extensions, object stores through pyarrow.

DuckDB reads an object store through fsspec, by the same pyarrow file system that writes it. DuckDB's own `httpfs` would
need a download (it has no wheel for DuckDB 2.0) and its own endpoint, region and keys. Reads are by range, so columns
and row groups that a query does not need are not transferred.
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
"""DuckDB writes data beyond the memory limit to the temporary folder.

Without a limit DuckDB takes four fifths of the machine's memory, which starves parallel test runs. No query needs more
than this (benchmarks/questions.py).
"""
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def connected(database: Path | None = None, *, store: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield an in-memory connection, or a read-only one to a database file. With a store URL it can read that store."""
    with duckdb.connect(database or ":memory:", read_only=database is not None, config=SETTINGS) as connection:
        settle(connection)
        connection.execute("SET parquet_metadata_cache = true")  # each file is opened once per view
        reach(connection, store)
        yield connection


@contextmanager
def for_one_question(store: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection for one query over files. It may register tables, but must not create persistent objects.

    All connections of a process share one in-memory database: creating one takes twenty times as long as connecting.
    The shared database must cache nothing about a file: DuckDB detects changes by a timestamp, which two writes may
    share. For an object store, each call creates a database: two stores may have the same scheme.
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
        cachable = False  # fsspec would return the instance of an earlier store

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.partition("://")[2] or path  # fsspec's own parser takes the bucket of most schemes for a host

        def _open(self, path: str, *_: Any, **__: Any) -> PlaceOfEachThread:
            return PlaceOfEachThread(disk.open(path.removeprefix(f"{disk.base}/")))

    return Reached(disk.system)


class PlaceOfEachThread(RawIOBase):
    """A readable file with one position per thread.

    DuckDB calls seek and then read on several threads at once. With one shared position, a thread gets the data that
    another thread requested (fsspec's `ArrowFile`, DuckDB 2.0).
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
    """Apply the settings that cannot be passed when a connection opens."""
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # results may be piped
