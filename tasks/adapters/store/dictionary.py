"""docs/data-dictionary.md, generated: `python -m tasks.adapters.store.dictionary docs/data-dictionary.md`."""

from __future__ import annotations

import inspect
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from tasks.adapters.store.layout import FACTS, layout_of
from tasks.adapters.store.schema import Column, columns
from tasks.domain.run import Run
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES

HEAD = """# Data dictionary

Generated from `tasks/domain` by `python -m tasks.adapters.store.dictionary docs/data-dictionary.md`; edit the
docstrings there.

Each table is a folder of Parquet files in the store and a view in `swt.duckdb`. Times are UTC. Null means "not
measured" or "does not apply", never 0 or empty. Text that is not Unicode starts with U+FFFD: in it `\\udcXX` is a byte
that could not be decoded, and `\\u005c` a backslash.

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
    return HEAD + index + "".join(_table(kind) for kind in TABLES)


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
    text = " ".join(filter(None, [column.text, _values(hint)])).replace("|", "\\|").replace("\n", " ")
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
