"""docs/data-dictionary.md, generated: `python -m tasks.adapters.store.views.dictionary docs/data-dictionary.md`."""

from __future__ import annotations

import inspect
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.layout import FACTS, layout_of
from tasks.adapters.store.files.provenance import PROJECT
from tasks.adapters.store.files.schema import Column, columns
from tasks.adapters.store.views.comments import ViewComment, view_comments
from tasks.adapters.store.views.database import empty_database
from tasks.adapters.store.views.headers import KINDS
from tasks.adapters.store.views.sql_files import named_queries
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

HEAD = """# Data dictionary

Generated from `tasks/domain` and `sql/` by `python -m tasks.adapters.store.views.dictionary
docs/data-dictionary.md`; edit the docstrings and the headers there.

Each table is a folder of Parquet files in the store and a view in `swt.duckdb`. Times are UTC. Null means "not
measured" or "does not apply", never 0 or empty. Text that is not Unicode starts with U+FFFD: in it `\\udcXX` is a byte
that could not be decoded, and `\\u005c` a backslash.

What the views below the tables answer is one file each of `sql/`. In `swt.duckdb` all of this is in comments:
`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'table2'`.

"""
_SQL = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
}


def dictionary() -> str:
    """The whole text."""
    index = "".join(f"- [`{table_name(kind)}`](#{table_name(kind)}): {_first_line(kind)}\n" for kind in TABLES)
    views = _views()
    index += "".join(f"- [`{view.name}`](#{view.name}): {view.text}\n" for view in views)
    return HEAD + index + "".join(_table(kind) for kind in TABLES) + "".join(map(_view, views))


def _views() -> tuple[ViewComment, ...]:
    """By folder and name."""
    questions = named_queries(PROJECT / "sql")
    with duckdb.connect() as connection:
        empty_database(connection, questions)
        found = view_comments(connection, questions)
    return tuple(sorted(found, key=lambda view: (KINDS.index(view.kind), view.name)))


def _view(view: ViewComment) -> str:
    lines = [
        f"\n## {view.name}\n",
        view.text + "\n",
        f"A view of `sql/{view.kind}`.\n",
        "| column | type | meaning |",
        "| --- | --- | --- |",
        *(f"| `{name}` | {kind} | {_cell(text)} |" for name, (kind, text) in view.columns.items()),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(row_type: type[Any]) -> str:
    hints = get_type_hints(row_type)
    lines = [
        f"\n## {table_name(row_type)}\n",
        inspect.cleandoc(row_type.__doc__ or "") + "\n",
        _counting(row_type) + "\n",
        "| column | type | null | meaning |",
        "| --- | --- | --- | --- |",
        *(_line(column, hints[column.name]) for column in columns(row_type)),
    ]
    return "\n".join(lines) + "\n"


def _counting(row_type: type[Any]) -> str:
    """Which of several stored rows the view shows."""
    if row_type is Run:
        return "One row per `run_key`: one that is not `infrastructure` where there is any, then the latest."
    if row_type in FACTS:
        return "Rows of the write that the `run` row names; rows of a run that was never finished are not shown."
    owner = ", ".join(f"`{name}`" for name in layout_of(row_type).owner)
    return f"Rows of the latest write for each {owner}."


def _line(column: Column, hint: Any) -> str:
    text = _cell(" ".join(filter(None, [column.text, _values(hint)])))
    return f"| `{column.name}` | {_sql(column.arrow)} | {'yes' if column.nullable else ''} | {text} |"


def _values(hint: Any) -> str:
    """The closed list of values of an enum, optional or not."""
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return "One of " + ", ".join(f"`{member.value}`" for member in kind) + "."
    return ""


def _sql(arrow: pa.DataType) -> str:
    return f"{_sql(arrow.value_type)}[]" if pa.types.is_list(arrow) else _SQL[arrow]


def _first_line(row_type: type[Any]) -> str:
    return inspect.cleandoc(row_type.__doc__ or "").partition("\n")[0]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(dictionary(), "utf-8")
