"""`swt.duckdb`: views over the store and nothing else. Deleting it loses nothing; building it reads no rows."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store import comments
from tasks.adapters.store.duck import connected
from tasks.adapters.store.latest import latest, literal, quoted
from tasks.adapters.store.questions import WITH_WITHDRAWN, Question, as_tables, define, named_queries, views_of
from tasks.adapters.store.reading import glob_of, steadily
from tasks.adapters.store.schema import DESCRIPTION, arrow_schema
from tasks.adapters.store.warehouse import Store
from tasks.domain import tables as domain_tables
from tasks.domain.errors import BadInput, NotFound, StoreError
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

FORMAT = "v1.5.0"
"""Storage version of the file: command lines from DuckDB 1.5 on can open it."""

MADE_FROM = "made_from"
"""The view that says by a digest what the file was made from."""


def build_views(store_root: str, database: Path, sql: Path) -> tuple[Question, ...]:
    """Write the database file anew: a view per table of the domain, then every file below `sql`; those, in order.

    Torn files of the store are moved aside first. Whoever has the old file open keeps it. Paths in the views are
    absolute: after the store has moved, build again.
    """
    questions = named_queries(sql)
    store = Store(store_root)
    store.quarantine()
    store.seed()
    try:
        _replace(database, lambda path: _write(path, store.url, questions, _definitions(store.url, sql)))
    except (OSError, duckdb.IOException) as error:
        hint = "name a file in a folder that can be written: SWT_DATABASE"
        raise StoreError(f"the database {database} cannot be made: {error}", hint=hint) from error
    return questions


def _replace(database: Path, write: Callable[[Path], None]) -> None:
    """Whole or not at all."""
    database.parent.mkdir(parents=True, exist_ok=True)
    unfinished = database.with_name(f".{database.name}.{secrets.token_hex(4)}.tmp")
    try:
        unfinished.touch()  # an error of this place's; DuckDB's would be taken for one of the store's files
        steadily(lambda: write(unfinished))
        database.with_name(database.name + ".wal").unlink(missing_ok=True)
        unfinished.replace(database)
    finally:
        unfinished.unlink(missing_ok=True)


def ensure_views(store_root: str, database: Path, sql: Path) -> None:
    """`build_views`, unless the file was made for this store from the same definitions. Torn files go in any case."""
    store = Store(store_root)
    if _recorded(database) != _definitions(store.url, sql):
        build_views(store_root, database, sql)
    else:
        store.quarantine()
        store.seed(missing_only=True)


def query(database: Path, sql: str, *, withdrawn: bool = False) -> pa.Table:
    """The answer to one statement, which cannot write; whether tables count what was withdrawn as well.

    `NotFound` without a database, `BadInput` for bad SQL.
    """
    if not database.exists():
        raise NotFound(f"there is no {database}", hint="build it with `swt store views`")
    try:
        return steadily(lambda: _query(database, sql, withdrawn=withdrawn))
    except duckdb.Error as error:
        raise BadInput(f"the query cannot be run: {error}", hint="`swt query` lists what there is to ask") from error


def table_views(url: str) -> tuple[str, ...]:
    """CREATE statements of the views of all tables, with their descriptions as comments."""
    return tuple(text for row_type in TABLES for text in _table_view(url, row_type))


def _definitions(url: str, sql: Path) -> str:
    """Digest of all that decides what is in the file: the store's place, `sql`, the domain, this package."""
    digest = hashlib.sha256(f"{FORMAT} {duckdb.__version__} {url}".encode())
    domain, package = Path(domain_tables.__file__).parent, Path(__file__).parent
    for path in (*sorted(sql.rglob("*.sql")), *sorted(domain.glob("*.py")), *sorted(package.glob("*.py"))):
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _recorded(database: Path) -> str:
    """The digest that is kept in the file; empty where there is none."""
    try:
        return str(_query(database, f"SELECT digest FROM {MADE_FROM}")["digest"][0])
    except duckdb.Error:
        return ""


def _write(path: Path, url: str, questions: tuple[Question, ...], definitions: str) -> None:
    path.unlink(missing_ok=True)
    with connected() as connection:
        _reach(connection, url)
        _empty_tables(connection)
        connection.execute(f"ATTACH {literal(str(path))} AS warehouse (STORAGE_VERSION '{FORMAT}')")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")
        for row_type in TABLES:
            connection.execute(f"CREATE VIEW {table_name(row_type)} AS FROM memory.main.{table_name(row_type)}")
        _define_all(connection, questions)
        for statement in table_views(url):
            connection.execute(statement)
        connection.execute(comments.statements(comments.view_comments(connection, questions)))
        connection.execute(f"CREATE VIEW {MADE_FROM} AS SELECT {literal(definitions)} AS digest")
        connection.execute(f"COMMENT ON VIEW {MADE_FROM} IS 'Tells whether the file has to be made anew'")
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")


def _define_all(connection: duckdb.DuckDBPyConnection, questions: tuple[Question, ...]) -> None:
    """Every view, first as an empty table, then from the last to the first as itself.

    DuckDB looks through all that a view is made of when it is created; tables end that look. For a hundred views that
    stand on each other this is four times cheaper.
    """
    for question in questions:
        define(connection, as_tables(question))
    for question in reversed(questions):
        for name in views_of(question):
            connection.execute(f"DROP TABLE {name}")
        define(connection, question)


def empty_database(connection: duckdb.DuckDBPyConnection, questions: tuple[Question, ...]) -> None:
    """The tables without rows, and what `sql/` defines over them, as tables: to ask for names and types."""
    _empty_tables(connection)
    for question in questions:
        define(connection, as_tables(question))


def _empty_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Tables to define `sql/` against without opening a file each time; the views over files replace them."""
    for row_type in TABLES:
        connection.register("no_rows", arrow_schema(row_type).empty_table())
        connection.execute(f"CREATE TABLE memory.main.{table_name(row_type)} AS FROM no_rows")


def _table_view(url: str, row_type: type[Any]) -> tuple[str, ...]:
    name = table_name(row_type)
    schema = arrow_schema(row_type)
    comments = [f"COMMENT ON VIEW {name} IS {literal(_text(schema))}"]
    comments += [f"COMMENT ON COLUMN {name}.{quoted(field.name)} IS {literal(_text(field))}" for field in schema]
    body = latest(row_type, lambda kind: glob_of(url, kind))
    return (f"CREATE OR REPLACE VIEW {name} AS\n{body}", *comments)


def _text(described: Any) -> str:
    """Description of a schema or a field."""
    return bytes((described.metadata or {}).get(DESCRIPTION, b"")).decode()


def _reach(connection: duckdb.DuckDBPyConnection, url: str) -> None:
    """Load what DuckDB needs for an object store. It has to be installed: nothing is downloaded."""
    if "://" not in url:
        return
    try:
        connection.execute("LOAD httpfs")
    except duckdb.Error as error:
        raise BadInput(f"DuckDB cannot read {url}: {error}", hint="run `INSTALL httpfs` in DuckDB once") from error


def _query(database: Path, sql: str, *, withdrawn: bool = False) -> pa.Table:
    with connected(database) as connection:
        if withdrawn:
            connection.execute(WITH_WITHDRAWN)
        answer = connection.sql(sql)
        return pa.table({}) if answer is None else answer.to_arrow_table()
