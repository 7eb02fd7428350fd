"""Runs the audits of `sql/audits`: queries that must return no rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.adapters.store.files.disk import Disk, open_disk
from tasks.adapters.store.files.duckdb_connection import connected
from tasks.adapters.store.files.quarantine import quarantine
from tasks.adapters.store.tables.reading import steadily
from tasks.adapters.store.views.batches import batches, enter, load
from tasks.adapters.store.views.sql_files import WITH_WITHDRAWN, SqlFile, named_queries, needed_by
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

FOLDER = "audits"


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of one audit."""

    name: str
    about: str
    """Description from the audit's file: the rows that must not exist."""
    rows: pa.Table


def audits(store_root: str, sql: Path) -> tuple[Audit, ...]:
    """Run every audit over the current rows; return the results by name, with sorted rows.

    Audits read the runs, not the materialized views, one batch of instances at a time.
    """
    known = named_queries(sql)
    asked = sorted((one for one in known if one.kind == FOLDER), key=lambda one: one.name)
    needed = needed_by(known, [one.name for one in asked])
    questions = [one for one in known if one.name in needed]
    tables = [row_type for row_type in TABLES if table_name(row_type) in needed]
    disk = open_disk(store_root)
    found = steadily(lambda: _found(disk, tables, questions, asked), on_torn=lambda: quarantine(disk))
    return tuple(Audit(one.name, one.description, rows) for one, rows in zip(asked, found, strict=True))


def _found(
    disk: Disk, tables: Sequence[type[Any]], questions: Sequence[SqlFile], asked: Sequence[SqlFile]
) -> list[pa.Table]:
    """Return the rows of each audit over all batches. A store without instances gives one empty batch."""
    with connected(store=disk.url) as connection:
        connection.execute(WITH_WITHDRAWN)
        found = []
        for batch in [*batches(load(connection, disk, tables, None))] or [()]:
            enter(connection, disk, tables, questions, batch)
            found.append([connection.sql(f"FROM {one.name} ORDER BY ALL").to_arrow_table() for one in asked])
    return [pa.concat_tables(rows, promote_options="permissive") for rows in zip(*found, strict=True)]
