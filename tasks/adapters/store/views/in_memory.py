"""Answers several queries over the current rows: each file is read once, and each view is computed once.

In the database file, a view reads its inputs again for each reference. That suits a single query; a flow with several
queries about the same verdicts uses this module. Materialized views are updated first, then read from their rows
(materialized.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.disk import Disk, open_disk
from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.quarantine import quarantine
from tasks.adapters.store.tables.latest import latest
from tasks.adapters.store.tables.reading import source_of, steadily
from tasks.adapters.store.views.materialized import (
    INDEX,
    Materialized,
    judge,
    kept_of,
    kept_source,
    select_index,
    select_kept,
)
from tasks.adapters.store.views.sql_files import (
    WITH_WITHDRAWN,
    SqlFile,
    as_tables,
    define,
    named_queries,
    needed_by,
    other_views,
)
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

RUNS = "all_runs"
"""Table with every stored row of `run`; facts are selected by joining it."""


@dataclass(frozen=True, slots=True)
class _Needed:
    """The tables and files that a set of names depends on."""

    tables: tuple[type[Any], ...]
    questions: tuple[SqlFile, ...]
    """In dependency order, including materialized views."""
    kept: Materialized


def answers(store_root: str, sql: Path, names: Sequence[str], statements: Sequence[str]) -> tuple[pa.Table, ...]:
    """Return the result of each statement. Statements may use `names`: tables of the domain and files of `sql`.

    Includes withdrawn instances, since flows name the instances that they query. Moves torn files to quarantine.
    """
    disk = open_disk(store_root)
    needed = _needed(sql, names)
    if any(question.kept for question in needed.questions):
        judge(disk, needed.kept)
    return steadily(lambda: _answers(disk, needed, statements), on_torn=lambda: quarantine(disk))


def _needed(sql: Path, names: Sequence[str]) -> _Needed:
    known = named_queries(sql)
    wanted = needed_by(known, names, kept=True)
    return _Needed(
        tables=tuple(row_type for row_type in TABLES if table_name(row_type) in wanted),
        questions=tuple(question for question in known if question.name in wanted),
        kept=kept_of(known),
    )


def _answers(disk: Disk, needed: _Needed, statements: Sequence[str]) -> tuple[pa.Table, ...]:
    with connected(store=disk.url) as connection:
        connection.execute(WITH_WITHDRAWN)
        connection.execute(f"CREATE TABLE {RUNS} AS FROM {source_of(connection, disk, Run)}")
        for row_type in needed.tables:
            _load(connection, disk, row_type)
        source = kept_source(disk, needed.kept)
        if any(question.kept for question in needed.questions):
            connection.execute(f"CREATE TABLE {INDEX} AS {select_index(source)}")
        for question in needed.questions:
            if question.kept:
                connection.execute(f"CREATE VIEW {question.name} AS {select_kept(question.name, source)}")
                define(connection, as_tables(other_views(question)))
            else:
                define(connection, as_tables(question))
        return tuple(connection.sql(statement).to_arrow_table() for statement in statements)


def _load(connection: duckdb.DuckDBPyConnection, disk: Disk, row_type: type[Any]) -> None:
    body = latest(row_type, lambda kind: RUNS if kind is Run else source_of(connection, disk, kind))
    connection.execute(f"CREATE TABLE {table_name(row_type)} AS {body}")
