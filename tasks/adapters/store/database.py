"""`swt.duckdb`: views over the store and nothing else. Deleting it loses nothing; building it reads no rows."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store.duck import connected
from tasks.adapters.store.latest import latest, literal, quoted
from tasks.adapters.store.questions import Question, named_queries
from tasks.adapters.store.reading import glob_of, steadily
from tasks.adapters.store.schema import DESCRIPTION, arrow_schema
from tasks.adapters.store.warehouse import Store
from tasks.domain.errors import BadInput, NotFound
from tasks.domain.tables import TABLES, table_name

FORMAT = "v1.5.0"
"""Storage version of the file: command lines from DuckDB 1.5 on can open it."""


def build_views(store_root: str, database: Path, sql: Path) -> tuple[Question, ...]:
    """Write the database file anew: a view per table of the domain, then every file below `sql`; those, in order.

    Torn files of the store are moved aside first. Whoever has the old file open keeps it. Paths in the views are
    absolute: after the store has moved, build again.
    """
    questions = named_queries(sql)
    store = Store(store_root)
    store.quarantine()
    store.seed()
    database.parent.mkdir(parents=True, exist_ok=True)
    unfinished = database.with_name(f".{database.name}.{secrets.token_hex(4)}.tmp")
    try:
        steadily(lambda: _write(unfinished, store.url, questions))
        database.with_name(database.name + ".wal").unlink(missing_ok=True)
        unfinished.replace(database)
    finally:
        unfinished.unlink(missing_ok=True)
    return questions


def query(database: Path, sql: str) -> pa.Table:
    """The answer to one statement, which cannot write. `NotFound` without a database, `BadInput` for bad SQL."""
    if not database.exists():
        raise NotFound(f"there is no {database}", hint="build it with `swt store views`")
    try:
        return steadily(lambda: _query(database, sql))
    except duckdb.Error as error:
        raise BadInput(f"the query cannot be run: {error}", hint="`swt query` lists what there is to ask") from error


def table_views(url: str) -> tuple[str, ...]:
    """CREATE statements of the views of all tables, with their descriptions as comments."""
    return tuple(text for row_type in TABLES for text in _table_view(url, row_type))


def _write(path: Path, url: str, questions: tuple[Question, ...]) -> None:
    path.unlink(missing_ok=True)
    with connected() as connection:
        _reach(connection, url)
        _empty_tables(connection)
        connection.execute(f"ATTACH {literal(str(path))} AS warehouse (STORAGE_VERSION '{FORMAT}')")
        connection.execute("USE warehouse")
        connection.execute("BEGIN")
        for row_type in TABLES:
            connection.execute(f"CREATE VIEW {table_name(row_type)} AS FROM memory.main.{table_name(row_type)}")
        for question in questions:
            _define(connection, question)
        for statement in table_views(url):
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")


def _empty_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Tables to define `sql/` against without opening a file each time; the views over files replace them."""
    for row_type in TABLES:
        connection.register("no_rows", arrow_schema(row_type).empty_table())
        connection.execute(f"CREATE TABLE memory.main.{table_name(row_type)} AS FROM no_rows")


def _define(connection: duckdb.DuckDBPyConnection, question: Question) -> None:
    for statement in question.statements:
        try:
            connection.execute(statement)
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            hint = "name what it uses in its `-- needs:` line"
            raise BadInput(f"{question.path.name} cannot be defined: {error}", hint=hint) from error


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


def _query(database: Path, sql: str) -> pa.Table:
    with connected(database) as connection:
        answer = connection.sql(sql)
        return pa.table({}) if answer is None else answer.to_arrow_table()
