"""DuckDB connections of the project: in UTC, and with no download of extensions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

SETTINGS: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}


@contextmanager
def connected(database: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in memory, or one to a database file that it cannot change."""
    with duckdb.connect(database or ":memory:", read_only=database is not None, config=SETTINGS) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")  # an answer may be piped
        connection.execute("SET parquet_metadata_cache = true")  # each file is opened once per view
        yield connection
