"""Where the rows of each table lie, and which rows of a table belong together.

    <root>/<table>/<column>=<value>/part-<key>.parquet     one write
    <root>/<table>/<column>=<value>/pack-<id>.parquet      many writes, merged by compaction
    <root>/<table>/schema=current/part-empty.parquet       no rows: the table's columns and their descriptions
    <root>/judged/<digest>/<view>/part-<id>.parquet        what follows from runs (materialized.py); can be made again
    <root>/files/<xx>/<sha256>.gz                          logs and trajectories
    <root>/replies/<xx>/<call_key>.json.gz                 what models were asked and answered (tasks/adapters/llm)
    <root>/calls-under-way/<call_key>.json, .room, .lock   model calls that have no answer yet (the same)
    <root>/batches-under-way/<name>.json                   batches of several machines that are not settled (the same)
    <root>/claims/<run_key>.lock                           runs under way, on a machine that works alone
    <root>/.lock                                           taken by writers (shared) and by deletion (exclusive)

The folder level groups files for people and for compaction; it adds no column to any view.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from tasks.domain.errors import StoreError
from tasks.domain.names import FILE_NAME_BYTES, KEY_DIGITS, file_name
from tasks.domain.run import Run
from tasks.domain.table import DECLARED, Table, table_name
from tasks.domain.tables import TABLES

PART = "_part"
"""Hidden column of every stored row. For the tables of a run: which write the row belongs to (`run._part` names the
one that counts). For other tables: when the row was written, so that the latest wins."""

NOTHING = "-nothing"
"""Ends the part of a row that stands for none: the latest write about its owner had no rows. No reader sees it; it is
kept by compaction, since a pack that is full may still hold the rows of before."""

FACTS: tuple[type[Any], ...] = tuple(row_type for row_type in TABLES if DECLARED[row_type].of_run)
"""Tables whose rows count only if the `run` row of the same `run_key` names their part."""

FILE_COLUMNS: dict[type[Any], tuple[str, ...]] = {
    row_type: DECLARED[row_type].files for row_type in TABLES if DECLARED[row_type].files
}
"""Columns that name a file under `files/`."""

SCHEMA_FOLDER = "schema=current"
_RUN_KEY = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}")


def layout_of(row_type: type[Any]) -> Table:
    """How a table is kept; `StoreError` for a class that is none."""
    try:
        return DECLARED[row_type]
    except KeyError:
        raise StoreError(
            f"{row_type.__name__} is no table", hint="declare it with @table (tasks/domain/table.py)"
        ) from None


def folder(row_type: type[Any], value: str) -> str:
    """`Run`, `pallets/flask` → `run/repo=pallets__flask`."""
    name = quote(value.replace("/", "__"), safe=" ")
    group = name if len(name) <= FILE_NAME_BYTES else file_name(value)
    return f"{table_name(row_type)}/{layout_of(row_type).folder}={group}"


def part_name(key: str) -> str:
    """File name of the write with this key."""
    return f"part-{file_name(key)}.parquet"


def run_file(run_key: str, *, settled: bool) -> str:
    """File name of a `run` row. The ledger is read from these names; `run_of_file` is the inverse."""
    return f"part-{run_key}.parquet" if settled else f"part-{run_key}.infrastructure.parquet"


def run_of_file(name: str) -> str | None:
    """The run key in the name of a settled run's file; null for any other name."""
    match = re.fullmatch(r"part-([^.]+)\.parquet", name)
    return match[1] if match and match[1] != "empty" else None


def may_hold(row_type: type[Any], name: str, run_keys: Collection[str]) -> bool:
    """Whether a file of `run` or of a run's facts may have rows of these runs, by its name: a write is of one run."""
    written = re.fullmatch(r"part-(.+)\.parquet", name)
    if written is None:
        return True  # a pack
    if row_type is Run:
        return written[1].removesuffix(".infrastructure") in run_keys
    key = written[1].rpartition("-")[0]
    return key in run_keys or not _RUN_KEY.fullmatch(key)


def file_path(sha: str) -> str:
    """Path below the root of the file with this SHA-256."""
    return f"files/{sha[:2]}/{sha}.gz"
