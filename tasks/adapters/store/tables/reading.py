"""Reads tables without a database file: the SQL of `latest.py` over the current files."""

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
"""Maximum number of attempts. Each one lists the files again: next to a compaction that deletes early, several listings
in a row may be stale."""
_GONE = ("No such file", "Cannot open file", "No files found that match")
HELD = Held(budget=256 << 20)
HELD_FILES = HeldFiles(budget=128 << 20)
SMALL = 32 << 10
"""Largest size in bytes of a file that the cache holds. The file of one run has a few rows and 20 KB; the size of a
pack is not bounded."""
Answer = TypeVar("Answer")


def select(disk: Disk, row_type: type[Any], where: Mapping[str, Any], chosen: Sequence[str] | None = None) -> pa.Table:
    """Return the rows that count and match `where`, with the chosen columns, or all columns.

    Moves torn files to quarantine.
    """
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
    """Return the rows of a table that count. Cached while the table's files stay the same."""
    files = tuple(data_files(disk, row_type))
    return HELD.table(
        (disk.url, row_type), files, lambda: _ask(disk, (row_type,), lambda source: latest(row_type, source), [])
    )


def _among(table: pa.Table, where: Mapping[str, Any]) -> pa.Table:
    """Return the rows that match `where`. For a small table Arrow takes a tenth of the time of DuckDB."""
    masks = [_mask(table.column(name), value) for name, value in where.items()]
    return table.filter(reduce(pc.and_kleene, masks)) if masks else table


def _mask(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    if value is None:
        return pc.is_null(column)
    if _is_several(value):
        return pc.is_in(column, pa.array([_plain(item) for item in value if item is not None], column.type))
    return pc.equal(column, pa.scalar(_plain(value), column.type))


def ask(disk: Disk, kinds: Sequence[type[Any]], query: Callable[[Source], str]) -> pa.Table:
    """Return the result of a query over all stored rows of some tables, including rows that do not count.

    Lists the tables in the given order: `run` comes before its facts.
    """
    return steadily(lambda: _ask(disk, kinds, query, []))


def steadily(ask: Callable[[], Answer], *, on_torn: Callable[[], object] | None = None) -> Answer:
    """Call `ask` and return its result; retry if a file disappeared after listing, or after quarantining torn files.

    Raises `StoreError` with DuckDB's message if retries do not help, `StoreAway` if an object store does not respond.
    Errors that are not about a file pass through.
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
    """Return a FROM clause over all files of a table below a root that DuckDB can read."""
    pattern = f"{_escaped_glob(url)}/{table_name(row_type)}/*/*.parquet"
    return f"read_parquet({literal(pattern)}, union_by_name=true, filename=true, hive_partitioning=false)"


def source_of(connection: duckdb.DuckDBPyConnection, disk: Disk, kind: type[Any]) -> str:
    """Return a FROM clause over the files of a table and its empty form."""
    return source_in(connection, disk, kind, data_files(disk, kind))


def source_in(connection: duckdb.DuckDBPyConnection, disk: Disk, kind: type[Any], files: Sequence[Entry]) -> str:
    """Return a FROM clause over some files of a table and its empty form, with the source `filename` of each row.

    Arrow reads small files and the cache holds them; DuckDB reads only the needed parts of large ones.
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
    """Return an empty table. `schema.empty_table()` calls `pa.array`, which imports pandas: 0.2 CPU s per command."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _ask(
    disk: Disk,
    kinds: Sequence[type[Any]],
    query: Callable[[Source], str],
    values: list[Any],
    run_keys: Collection[str] | None = None,
) -> pa.Table:
    """Run a query over the files of some tables.

    With `run_keys`, the kinds are `run` and its facts, and files of other runs are not opened. A store of several
    months has thousands of such files, and opening each takes 1 to 2 ms of CPU.
    """
    with for_one_question(disk.url) as connection:
        sources = {kind: source_in(connection, disk, kind, _files(disk, kind, run_keys)) for kind in kinds}
        return connection.sql(query(sources.__getitem__), params=values).to_arrow_table()


def _files(disk: Disk, kind: type[Any], run_keys: Collection[str] | None) -> list[Entry]:
    found = data_files(disk, kind)
    if run_keys is None:
        return found
    return [entry for entry in found if may_hold(kind, entry.path.rpartition("/")[2], run_keys)]


def _needed(row_type: type[Any]) -> tuple[type[Any], ...]:
    """Return the tables to list, `run` before its facts."""
    return (Run, row_type) if row_type in FACTS else (row_type,)


def _check_columns(row_type: type[Any], asked: Iterable[str]) -> None:
    known = {column.name for column in columns(row_type)}
    if unknown := set(asked) - known:
        raise BadInput(f"{table_name(row_type)} has no column {', '.join(sorted(unknown))}")


def _condition(where: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return a WHERE clause and its parameters."""
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
    """Escape the glob characters in `url`."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in url)


def _is_gone(error: Exception) -> bool:
    """Whether a listed file no longer exists: compaction deleted it, and a pack in a new listing has its rows."""
    return isinstance(error, FileNotFoundError) or any(words in str(error) for words in _GONE)


def _is_about_a_file(error: Exception) -> bool:
    return (
        _is_gone(error) or ".parquet" in str(error) or "Parquet" in str(error) or isinstance(error, pa.ArrowException)
    )
