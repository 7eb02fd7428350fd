"""Reading tables without a database file: the SQL of `latest.py` over the files that are there now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.adapters.store.files.disk import AWAY, CUT_OFF, Disk, Entry, away
from tasks.adapters.store.files.duckdb_connection import for_one_question
from tasks.adapters.store.files.layout import FACTS, may_hold
from tasks.adapters.store.files.parquet_format import data_files, stored_schema
from tasks.adapters.store.files.quarantine import quarantine
from tasks.adapters.store.files.schema import columns
from tasks.adapters.store.tables.cache import Held, HeldFiles
from tasks.adapters.store.tables.latest import Source, latest, literal, quoted
from tasks.domain.errors import BadInput, StoreError
from tasks.domain.run import Run
from tasks.domain.table import table_name

ATTEMPTS = 20
"""Each is another listing: beside a compaction that deletes early, several in a row may be out of date."""
_GONE = ("No such file", "Cannot open file", "No files found that match")
HELD = Held(budget=256 << 20)
HELD_FILES = HeldFiles(budget=128 << 20)
SMALL = 32 << 10
"""Bytes of a file that is held: that of a run has a few rows and 20 KB; a pack has as many as there were."""
Answer = TypeVar("Answer")


def select(disk: Disk, row_type: type[Any], where: Mapping[str, Any], chosen: Sequence[str] | None = None) -> pa.Table:
    """The rows that count and satisfy `where`, with the columns that are chosen, or all. Torn files are moved aside on
    the way."""
    wanted = [column.name for column in columns(row_type)] if chosen is None else list(chosen)
    _check_columns(row_type, (*where, *wanted))
    if row_type is not Run and row_type not in FACTS:
        held = steadily(lambda: _held(disk, row_type), on_torn=lambda: quarantine(disk))
        return _among(held, where).select(wanted)
    condition, values = _condition(where)
    asked = where.get("run_key")
    keys = None if asked is None else frozenset(map(str, asked if _is_several(asked) else (asked,)))

    def query(source: Source) -> str:
        return f"SELECT {', '.join(map(quoted, wanted))} FROM ({latest(row_type, source)}){condition}"

    return steadily(
        lambda: _ask(disk, _needed(row_type), query, values, keys),
        on_torn=lambda: quarantine(disk),
    )


def _held(disk: Disk, row_type: type[Any]) -> pa.Table:
    """The rows that count of a table; in memory since an earlier question, if its files are the same."""
    files = tuple(data_files(disk, row_type))
    return HELD.table(
        (disk.url, row_type), files, lambda: _ask(disk, (row_type,), lambda source: latest(row_type, source), [])
    )


def _among(table: pa.Table, where: Mapping[str, Any]) -> pa.Table:
    """The rows that satisfy `where`. Arrow takes a tenth of the time that DuckDB needs for a small table."""
    masks = [_mask(table.column(name), value) for name, value in where.items()]
    return table.filter(reduce(pc.and_kleene, masks)) if masks else table


def _mask(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    if _is_several(value):
        return pc.is_in(column, pa.array([_plain(item) for item in value if item is not None], column.type))
    return pc.equal(column, pa.scalar(_plain(value), column.type))


def ask(disk: Disk, kinds: Sequence[type[Any]], query: Callable[[Source], str]) -> pa.Table:
    """The answer to a query over all stored rows of some tables, whether they count or not.

    The tables are listed in the order given: `run` comes before its facts.
    """
    return steadily(lambda: _ask(disk, kinds, query, []))


def steadily(ask: Callable[[], Answer], *, on_torn: Callable[[], object] | None = None) -> Answer:
    """`ask()`, again where a file went away between listing and opening it, or after torn files were moved aside.

    `StoreError` with DuckDB's words where that does not help, `StoreAway` where an object store does not answer. Errors
    that are not about a file pass through.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            return ask()
        except (duckdb.Error, FileNotFoundError, pa.ArrowException) as error:
            if AWAY in str(error):
                if left and CUT_OFF in str(error):
                    continue
                raise away("the store", error) from error
            if not _is_about_a_file(error):
                raise
            if not left:
                hint = "`swt store check` says what is wrong"
                raise StoreError(f"the store cannot be read: {error}", hint=hint) from error
            if on_torn and not _is_gone(error):
                on_torn()
    raise AssertionError("unreachable")


def glob_of(url: str, row_type: type[Any]) -> str:
    """FROM clause over all files of a table below a root that DuckDB can reach."""
    pattern = f"{_escaped_glob(url)}/{table_name(row_type)}/*/*.parquet"
    return f"read_parquet({literal(pattern)}, union_by_name=true, filename=true, hive_partitioning=false)"


def source_of(connection: duckdb.DuckDBPyConnection, disk: Disk, kind: type[Any]) -> str:
    """FROM clause over the files of a table and its empty form."""
    return source_in(connection, disk, kind, data_files(disk, kind))


def source_in(connection: duckdb.DuckDBPyConnection, disk: Disk, kind: type[Any], files: Sequence[Entry]) -> str:
    """FROM clause over some files of a table and its empty form, with the `filename` that each row came from.

    Small files are read by Arrow and held; of large ones DuckDB reads what it needs.
    """
    name = f"{table_name(kind)}_files"
    empty = _nothing(stored_schema(kind).append(pa.field("filename", pa.string())))
    small = [entry for entry in files if entry.size <= SMALL]
    each = [HELD_FILES.table(disk.url, entry, partial(_rows_of, disk, entry)) for entry in small]
    connection.register(name, pa.concat_tables([empty, *each], promote_options="default"))
    paths = ", ".join(literal(f"{disk.url}/{entry.path}") for entry in files if entry.size > SMALL)
    found = f"read_parquet([{paths}], union_by_name=true, filename=true, hive_partitioning=false)"
    return f"(FROM {name} UNION ALL BY NAME FROM {found})" if paths else name


def _rows_of(disk: Disk, entry: Entry) -> pa.Table:
    table = pq.ParquetFile(pa.BufferReader(disk.read(entry.path))).read(use_threads=False)
    return table.append_column("filename", pa.repeat(f"{disk.url}/{entry.path}", table.num_rows))


def _nothing(schema: pa.Schema) -> pa.Table:
    """Its `empty_table()`, without `pa.array`, which imports pandas to look at its argument: 0.2 CPU s of a command."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _ask(
    disk: Disk,
    kinds: Sequence[type[Any]],
    query: Callable[[Source], str],
    values: list[Any],
    run_keys: Collection[str] | None = None,
) -> pa.Table:
    """With `run_keys` the kinds are `run` and its facts, and files of other runs are not opened: in a store of months
    there are thousands, and each takes a CPU millisecond or two."""
    with for_one_question(disk.url) as connection:
        sources = {kind: source_in(connection, disk, kind, _files(disk, kind, run_keys)) for kind in kinds}
        return connection.sql(query(sources.__getitem__), params=values).to_arrow_table()


def _files(disk: Disk, kind: type[Any], run_keys: Collection[str] | None) -> list[Entry]:
    found = data_files(disk, kind)
    if run_keys is None:
        return found
    return [entry for entry in found if may_hold(kind, entry.path.rpartition("/")[2], run_keys)]


def _needed(row_type: type[Any]) -> tuple[type[Any], ...]:
    """The tables to list, the `run` before its facts."""
    return (Run, row_type) if row_type in FACTS else (row_type,)


def _check_columns(row_type: type[Any], asked: Iterable[str]) -> None:
    known = {column.name for column in columns(row_type)}
    if unknown := set(asked) - known:
        raise BadInput(f"{table_name(row_type)} has no column {', '.join(sorted(unknown))}")


def _condition(where: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """WHERE clause and its parameters."""
    parts, values = [], []
    for name, value in where.items():
        if value is None:
            parts.append(f"{quoted(name)} IS NULL")
        else:
            several = _is_several(value)
            parts.append(f"list_contains(?, {quoted(name)})" if several else f"{quoted(name)} = ?")
            values.append([_plain(item) for item in value] if several else _plain(value))
    return (" WHERE " + " AND ".join(parts) if parts else ""), values


def _is_several(value: Any) -> bool:
    return isinstance(value, tuple | list | set | frozenset)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _escaped_glob(url: str) -> str:
    """`url` with the characters that mean something in a glob taken literally."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in url)


def _is_gone(error: Exception) -> bool:
    """Whether a listed file is not there any more: compaction removed it, a pack of the new listing has its rows."""
    return isinstance(error, FileNotFoundError) or any(words in str(error) for words in _GONE)


def _is_about_a_file(error: Exception) -> bool:
    return (
        _is_gone(error) or ".parquet" in str(error) or "Parquet" in str(error) or isinstance(error, pa.ArrowException)
    )
