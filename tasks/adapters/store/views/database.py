"""Builds `swt.duckdb`, which contains only views over the store. Deleting the file loses no data.

A build reads only the rows of instances whose materialized verdicts are missing or outdated (materialized.py).
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.duckdb_connection import SETTINGS, connected, reach, settle
from tasks.adapters.store.files.schema import DESCRIPTION, arrow_schema
from tasks.adapters.store.tables.latest import latest, literal, quoted
from tasks.adapters.store.tables.reading import glob_of, steadily
from tasks.adapters.store.tables.store import Store
from tasks.adapters.store.views import comments
from tasks.adapters.store.views.materialized import (
    INDEX,
    INDEX_TEXTS,
    Materialized,
    MaterializedPlace,
    Progress,
    bring_up_to_date,
    glob_of_kept,
    is_current,
    judge,
    kept_of,
    seed,
    select_index,
    select_kept,
)
from tasks.adapters.store.views.sql_files import (
    WITH_WITHDRAWN,
    SqlFile,
    as_tables,
    define,
    named_queries,
    views_of,
)
from tasks.domain import tables as domain_tables
from tasks.domain.errors import BadInput, NotFound, StoreError, UsageError
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

FORMAT = "v1.5.0"
"""Storage version of the file. DuckDB command lines from 1.5 on can open it."""

Value = str | int | bool | date | None
"""Type of a value that `selection` writes into a statement."""

MADE_FROM = "made_from"
"""Name of the view with the digest of what the file was built from."""


def build_views(store_root: str, database: Path, sql: Path, progress: Progress | None = None) -> tuple[SqlFile, ...]:
    """Rebuild the database file: a view per table of the domain, then every file of `sql`. Returns the files in
    order.

    Moves torn files to quarantine first, and updates the materialized views last. A process with the old file open
    keeps it. Paths in the views are absolute: build again after moving the store.
    """
    questions = named_queries(sql)
    store = Store(store_root)
    store.quarantine()
    store.seed()
    kept = kept_of(questions)
    seed(store.disk, kept)
    try:
        _replace(database, lambda path: _write(path, store.url, questions, _definitions(store.url, sql)))
    except (OSError, duckdb.IOException) as error:
        hint = "name a file in a folder that can be written: SWT_DATABASE"
        raise StoreError(f"the database {database} cannot be made: {error}", hint=hint) from error
    judge(store.disk, kept, progress)
    return questions


def replace_database(database: Path, url: str, questions: tuple[SqlFile, ...]) -> None:
    """Write the views of these files to a database file."""
    _replace(database, lambda path: _write(path, url, questions, ""))


def _replace(database: Path, write: Callable[[Path], None]) -> None:
    """Replace the file atomically."""
    database.parent.mkdir(parents=True, exist_ok=True)
    unfinished = database.with_name(f".{database.name}.{secrets.token_hex(4)}.tmp")
    try:
        unfinished.touch()  # fails here if unwritable: steadily() retries DuckDB's error
        steadily(lambda: write(unfinished))
        database.with_name(database.name + ".wal").unlink(missing_ok=True)
        unfinished.replace(database)
    finally:
        unfinished.unlink(missing_ok=True)


def ensure_views(store_root: str, database: Path, sql: Path, progress: Progress | None = None) -> None:
    """Call `build_views`, unless the file was built for this store from the same definitions.

    Always moves torn files to quarantine and updates the materialized views.
    """
    store = Store(store_root)
    digest, place = _recorded(database)
    if digest != _definitions(store.url, sql):
        build_views(store_root, database, sql, progress)
        return
    store.quarantine()
    store.seed(missing_only=True)
    if not is_current(store.disk, place):
        bring_up_to_date(store_root, sql, progress)


def query(database: Path, sql: str, *, withdrawn: bool = False) -> pa.Table:
    """Return the result of one read-only statement. `withdrawn` includes withdrawn instances.

    Raises `NotFound` without a database, `BadInput` for invalid SQL.
    """
    if not database.exists():
        raise NotFound(f"there is no {database}", hint="build it with `swt store views`")
    try:
        return steadily(lambda: _query(database, sql, withdrawn=withdrawn))
    except duckdb.Error as error:
        raise BadInput(f"the query cannot be run: {error}", hint="`swt query` lists what there is to ask") from error


def selection(
    view: str,
    wanted: Mapping[str, Sequence[Value]] | None = None,
    order: Sequence[str] = (),
    *,
    arguments: Sequence[Value | Sequence[Value]] = (),
) -> str:
    """Return a statement that selects rows of a view, or of a macro with arguments.

    `wanted` maps a column to its accepted values; None among the values matches null.
    """
    where = " AND ".join(_among(quoted(name), values) for name, values in (wanted or {}).items())
    called = f"({', '.join(map(_written, arguments))})" if arguments else ""
    rows = f"FROM {quoted(view)}{called}" + (f" WHERE {where}" if where else "")
    return rows + (f" ORDER BY {', '.join(map(quoted, order))}" if order else "")


def _among(column: str, values: Sequence[Value]) -> str:
    """Return the condition that a column has one of the values. Without values it is NULL: `IN
    ()` is a syntax error."""
    some = ", ".join(_written(value) for value in values if value is not None) or "NULL"
    return f"({column} IN ({some}) OR {column} IS NULL)" if None in values else f"{column} IN ({some})"


def _written(value: Value | Sequence[Value]) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return f"DATE {literal(value.isoformat())}"
    return str(value) if isinstance(value, int) else f"[{', '.join(map(_written, value))}]"


def run_named(database: Path, key: str) -> dict[str, Any]:
    """Return the row of `run` whose key starts with `key`. Raises `NotFound` for none, `UsageError` for several."""
    asked = f"FROM run WHERE starts_with(run_key, {literal(key.lower())}) ORDER BY run_key LIMIT 2"
    found: list[dict[str, Any]] = query(database, asked).to_pylist()
    if not found:
        raise NotFound(f"there is no run {key!r}", hint="`FROM run` has the keys")
    if len(found) > 1:
        raise UsageError(f"several runs begin with {key!r}", hint="give more of the key")
    return found[0]


def carry_away(store_root: str, sql: Path, out: Path) -> int:
    """Write a self-contained file: tables of the domain and materialized views as tables, other files of `sql` as
    views.

    Returns the number of tables. The materialized views must be up to date.
    """
    questions, url = named_queries(sql), Store(store_root).url
    kept = kept_of(questions)
    names = (*(table_name(row_type) for row_type in TABLES), *((INDEX, *kept.names) if kept.names else ()))

    def write(path: Path) -> None:
        _write(path, url, questions, "")
        with duckdb.connect(path, config=SETTINGS) as connection:
            settle(connection)
            reach(connection, url)
            for name in names:
                connection.execute(f"CREATE TABLE carried AS FROM {name}")
                connection.execute(f"DROP VIEW {name}")
                connection.execute(f"ALTER TABLE carried RENAME TO {name}")
            for row_type in TABLES:
                for comment in _comments(row_type, "TABLE"):
                    connection.execute(comment)

    _replace(out, write)
    return len(names)


def table_views(url: str) -> tuple[str, ...]:
    """Return the CREATE statements of the views of all tables, with descriptions as comments."""
    return tuple(text for row_type in TABLES for text in _table_view(url, row_type))


def _definitions(url: str, sql: Path) -> str:
    """Return a digest of everything that decides the file's content: the store URL, `sql`, the domain, this package."""
    digest = hashlib.sha256(f"{FORMAT} {duckdb.__version__} {url}".encode())
    domain, package = Path(domain_tables.__file__).parent, Path(__file__).parents[1]
    for path in (*sorted(sql.rglob("*.sql")), *sorted(domain.glob("*.py")), *sorted(package.rglob("*.py"))):
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _recorded(database: Path) -> tuple[str, MaterializedPlace]:
    """Return the digest in the file, or "" without a file, and the location of its materialized rows."""
    try:
        with connected(database) as connection:
            asked = f"SELECT digest, kept_below, kept_from FROM {MADE_FROM}"
            ((digest, root, inputs),) = connection.sql(asked).fetchall()
            return str(digest), MaterializedPlace(root, tuple(inputs))
    except duckdb.Error:
        return "", MaterializedPlace("", ())


def _write(path: Path, url: str, questions: tuple[SqlFile, ...], definitions: str) -> None:
    """Write the file: first the part that `_made` caches for all stores, then tables, materialized views and the
    digest."""
    made = _made(tuple((one, one.path.read_text("utf-8")) for one in questions))
    kept = kept_of(questions)
    path.unlink(missing_ok=True)
    path.write_bytes(made.file)
    with _writing(path, url) as connection:
        for statement in (*_kept_views(kept, url), *table_views(url)):
            connection.execute(statement)
        connection.execute(made.of_kept)
        inputs = f"[{', '.join(map(literal, kept.place.inputs))}]::VARCHAR[]"
        made_from = f"{literal(definitions)} AS digest, {literal(url)} AS store"
        kept_at = f"{literal(kept.place.root)} AS kept_below, {inputs} AS kept_from"
        connection.execute(f"CREATE VIEW {MADE_FROM} AS SELECT {made_from}, {kept_at}")
        connection.execute(
            f"COMMENT ON VIEW {MADE_FROM} IS 'Tells of which store it is, and when it has to be made anew'"
        )


@contextmanager
def _writing(path: Path, url: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection that writes to a database file in one transaction. Without a store,
    the tables have no rows."""
    with connected(store=url) as connection:
        if not url:
            _empty_tables(connection)
        connection.execute(f"ATTACH {literal(str(path))} AS warehouse (STORAGE_VERSION '{FORMAT}')")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")


@dataclass(frozen=True, slots=True)
class _Made:
    """The part of a database file that is the same for every store."""

    file: bytes
    of_kept: str
    """SQL comments on materialized views, which each file defines itself."""


@lru_cache(maxsize=2)
def _made(texts: tuple[tuple[SqlFile, str], ...]) -> _Made:
    """Build all views over empty tables. Takes two CPU seconds; cached, as a process may build files for several
    stores."""
    questions = tuple(question for question, _ in texts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "views.duckdb"
        with _writing(path) as connection:
            for row_type in TABLES:
                connection.execute(f"CREATE VIEW {table_name(row_type)} AS FROM memory.main.{table_name(row_type)}")
            _define_all(connection, questions)
            found = comments.view_comments(connection, questions)
            connection.execute(comments.statements(found))
        names = kept_of(questions).names
        return _Made(path.read_bytes(), comments.statements([one for one in found if one.name in names]))


def _define_all(connection: duckdb.DuckDBPyConnection, questions: tuple[SqlFile, ...]) -> None:
    """Define every view, first as an empty table, then from the last to the first as a view.

    DuckDB binds all underlying views when it creates one; tables stop this. For a hundred nested views this is four
    times cheaper.
    """
    for question in questions:
        define(connection, as_tables(question))
    for question in reversed(questions):
        for name in views_of(question):
            connection.execute(f"DROP TABLE {name}")
        define(connection, question)


def _kept_views(kept: Materialized, url: str) -> Iterator[str]:
    """Yield the CREATE statements of the index and of all materialized views."""
    if not kept.names:
        return

    def stored(name: str) -> str:
        return glob_of_kept(url, kept, name)

    yield f"CREATE VIEW {INDEX} AS {select_index(stored)}"
    yield f"COMMENT ON VIEW {INDEX} IS 'Which instances are judged: their kept rows, and what for'"
    for name, text in INDEX_TEXTS.items():
        yield f"COMMENT ON COLUMN {INDEX}.{quoted(name)} IS {literal(text)}"
    for name in kept.names:
        yield f"CREATE OR REPLACE VIEW {name} AS {select_kept(name, stored)}"


def empty_database(connection: duckdb.DuckDBPyConnection, questions: tuple[SqlFile, ...]) -> None:
    """Define the empty tables, and the objects of `sql/` over them as tables, to query names and types."""
    _empty_tables(connection)
    for question in questions:
        define(connection, as_tables(question))


def _empty_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create empty tables, so that defining `sql/` opens no file. The views over files replace them."""
    for row_type in TABLES:
        connection.register("no_rows", arrow_schema(row_type).empty_table())
        connection.execute(f"CREATE TABLE memory.main.{table_name(row_type)} AS FROM no_rows")


def _table_view(url: str, row_type: type[Any]) -> tuple[str, ...]:
    body = latest(row_type, lambda kind: glob_of(url, kind))
    return (f"CREATE OR REPLACE VIEW {table_name(row_type)} AS\n{body}", *_comments(row_type, "VIEW"))


def _comments(row_type: type[Any], kind: str) -> tuple[str, ...]:
    name, schema = table_name(row_type), arrow_schema(row_type)
    columns = [f"COMMENT ON COLUMN {name}.{quoted(field.name)} IS {literal(_text(field))}" for field in schema]
    return (f"COMMENT ON {kind} {name} IS {literal(_text(schema))}", *columns)


def _text(described: Any) -> str:
    """Return the description of a schema or a field."""
    return bytes((described.metadata or {}).get(DESCRIPTION, b"")).decode()


def _query(database: Path, sql: str, *, withdrawn: bool = False) -> pa.Table:
    with connected(database) as connection:
        with suppress(duckdb.CatalogException, duckdb.BinderException):  # carried away, or built by another version
            ((store,),) = connection.sql(f"SELECT store FROM {MADE_FROM}").fetchall()
            reach(connection, store)
        if withdrawn:
            connection.execute(WITH_WITHDRAWN)
        answer = connection.sql(sql)
        return pa.table({}) if answer is None else answer.to_arrow_table()
