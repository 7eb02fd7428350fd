"""Defines the path of each table's files and which rows of a table replace each other.

    <root>/<table>/<column>=<value>/part-<key>.parquet     one write
    <root>/<table>/<column>=<value>/pack-<id>.parquet      many writes, merged by compaction
    <root>/<table>/schema=current/part-empty.parquet       no rows: the table's columns and their descriptions
    <root>/judged/<digest>/<view>/part-<id>.parquet        materialized views (materialized.py); can be recomputed
    <root>/files/<xx>/<sha256>.gz                          logs and trajectories
    <root>/replies/<xx>/<call_key>.json.gz                 cached requests and replies of models (tasks/adapters/llm)
    <root>/calls-under-way/<call_key>.json, .room, .lock   pending model calls (tasks/adapters/llm)
    <root>/batches-under-way/<name>.json                   pending batches of several machines (tasks/adapters/llm)
    <root>/claims/<run_key>.lock                           pending runs, on a machine that works alone
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
"""Hidden column of every stored row. For the tables of a run, it names the write, and `run._part` names the write that
counts. For other tables, it is the time of the write, so that the latest wins."""

NOTHING = "-nothing"
"""Suffix of the part of a marker row: the latest write about its owner had no rows. Readers filter it out. Compaction
copies it, since a full pack may still hold older rows of the owner."""

FACTS: tuple[type[Any], ...] = tuple(row_type for row_type in TABLES if DECLARED[row_type].of_run)
"""Tables whose rows count only if the `run` row of the same `run_key` names their part."""

FILE_COLUMNS: dict[type[Any], tuple[str, ...]] = {
    row_type: DECLARED[row_type].files for row_type in TABLES if DECLARED[row_type].files
}
"""Columns of each table that name a file under `files/`."""

SCHEMA_FOLDER = "schema=current"
_RUN_KEY = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}")


def layout_of(row_type: type[Any]) -> Table:
    """Return the layout of a table. Raises `StoreError` for a class that is not a table."""
    try:
        return DECLARED[row_type]
    except KeyError:
        raise StoreError(
            f"{row_type.__name__} is no table", hint="declare it with @table (tasks/domain/table.py)"
        ) from None


def folder(row_type: type[Any], value: str) -> str:
    """Return the folder of a value: `Run`, `pallets/flask` → `run/repo=pallets__flask`."""
    name = quote(value.replace("/", "__"), safe=" ")
    group = name if len(name) <= FILE_NAME_BYTES else file_name(value)
    return f"{table_name(row_type)}/{layout_of(row_type).folder}={group}"


def part_name(key: str) -> str:
    """Return the file name of the write with this key."""
    return f"part-{file_name(key)}.parquet"


def run_file(run_key: str, *, settled: bool) -> str:
    """Return the file name of a `run` row. The index is read from these names; `run_of_file` is the inverse."""
    return f"part-{run_key}.parquet" if settled else f"part-{run_key}.infrastructure.parquet"


def run_of_file(name: str) -> str | None:
    """Return the run key from the file name of a settled run; None for any other name."""
    match = re.fullmatch(r"part-([^.]+)\.parquet", name)
    return match[1] if match and match[1] != "empty" else None


def may_hold(row_type: type[Any], name: str, run_keys: Collection[str]) -> bool:
    """Whether, by its name, a file of `run` or its facts may have rows of these runs: one write has one run."""
    written = re.fullmatch(r"part-(.+)\.parquet", name)
    if written is None:
        return True  # a pack
    if row_type is Run:
        return written[1].removesuffix(".infrastructure") in run_keys
    key = written[1].rpartition("-")[0]
    return key in run_keys or not _RUN_KEY.fullmatch(key)


def file_path(sha: str) -> str:
    """Return the path below the root of the file with this SHA-256."""
    return f"files/{sha[:2]}/{sha}.gz"
