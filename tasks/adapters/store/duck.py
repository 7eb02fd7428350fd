"""DuckDB connections of the project: in UTC, and with no download of extensions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

import duckdb

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "enable_external_file_cache": False,
    "memory_limit": "1GB",
    "temp_directory": f"{tempfile.gettempdir()}/swt-duckdb",
}
"""What does not fit into the memory goes to the temporary folder: without a limit DuckDB takes four fifths of the
machine's, and a question beside test runs would starve them. No question needs more (benchmarks/questions.py)."""
_ONE_AT_A_TIME = Lock()


@contextmanager
def connected(database: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in memory, or one to a database file that it cannot change."""
    with duckdb.connect(database or ":memory:", read_only=database is not None, config=SETTINGS) as connection:
        _settle(connection)
        connection.execute("SET parquet_metadata_cache = true")  # each file is opened once per view
        yield connection


@contextmanager
def for_one_question() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one question over files; it may register tables, and is to create nothing that stays.

    All of a process share one database in memory: making one takes twenty times as long as connecting to it. So it
    remembers nothing of a file: whether a file is still the same it tells by a time that two writes may share.
    """
    with _ONE_AT_A_TIME:
        connection = _shared().cursor()
    with connection:
        _settle(connection)
        yield connection


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config=SETTINGS)


def _settle(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # an answer may be piped
