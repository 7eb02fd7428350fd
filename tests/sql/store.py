"""A small store in memory: the domain's tables in DuckDB, filled by hand, with every file of sql/ loaded on top."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb

from tasks.adapters.store.schema import arrow_schema
from tasks.domain.tables import TABLES, table_name

SQL = Path(__file__).parents[2] / "sql"
START = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SqlFile:
    path: Path
    text: str
    needs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem


@cache
def sql_files() -> tuple[SqlFile, ...]:
    """Every file of sql/, each after what it needs."""
    files = {path.stem: _read(path) for path in sorted(SQL.rglob("*.sql"))}
    tables = {table_name(row_type) for row_type in TABLES}
    graph = {name: set(file.needs) - tables for name, file in files.items()}
    return tuple(files[name] for name in TopologicalSorter(graph).static_order())


def _read(path: Path) -> SqlFile:
    text = path.read_text()
    needs = re.search(r"^-- needs:(.*)$", text, re.MULTILINE)
    assert needs, f"{path} has no `-- needs:` line"
    return SqlFile(path, text, tuple(name.strip() for name in needs[1].split(",") if name.strip()))


def default_of(kind: str) -> Any:
    if kind.startswith("list"):
        return []
    return {"string": "", "int64": 0, "double": 0.0, "bool": False}.get(kind, START)


class Tables:
    """An in-memory DuckDB with all tables and views. `add` fills columns that are not named with plain defaults."""

    def __init__(self) -> None:
        self.con = duckdb.connect()
        for row_type in TABLES:
            empty = arrow_schema(row_type).empty_table()
            self.con.register("empty", empty)
            self.con.execute(f"CREATE TABLE {table_name(row_type)} AS FROM empty")
            self.con.unregister("empty")
        for file in sql_files():
            self.con.execute(file.text)
        self.schemas = {table_name(row_type): arrow_schema(row_type) for row_type in TABLES}

    def add(self, table: str, **values: Any) -> None:
        row = {
            field.name: values.pop(field.name, None if field.nullable else default_of(str(field.type)))
            for field in self.schemas[table]
        }
        assert not values, f"{table} has no column {sorted(values)}"
        places = ", ".join("?" for _ in row)
        self.con.execute(f"INSERT INTO {table} VALUES ({places})", list(row.values()))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.con.sql(query).fetchall()

    def one(self, query: str) -> tuple[Any, ...]:
        (row,) = self.rows(query)
        return row
