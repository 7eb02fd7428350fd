"""SQL that selects which stored rows count; the views and `Store.read` both use it.

Each rule reads one listing of the files of one table. A file that appears or disappears during the read therefore never
makes a row count twice:

- `run`: of several rows with one key, prefer one that is not `infrastructure`, then the latest;
- outcomes and lines: the rows of the part that the `run` row names. `run` is listed first, so its facts exist;
- other tables: for each owner (layout.py), the rows of the latest write; no rows if that write had none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tasks.adapters.store.files.layout import FACTS, NOTHING, PART, layout_of
from tasks.adapters.store.files.schema import columns
from tasks.domain.run import Run

Source = Callable[[type[Any]], str]
"""Maps a table to the text after FROM: all stored rows with `_part` and their `filename`."""


def quoted(name: str) -> str:
    """Return `name` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return `text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def column_list(row_type: type[Any], more: Sequence[str] = ()) -> str:
    """Return the columns of a table and of `more`, as a SELECT list."""
    return ", ".join(quoted(name) for name in (*(column.name for column in columns(row_type)), *more))


def latest(row_type: type[Any], source: Source, *, more: Sequence[str] = (), nothing: bool = False) -> str:
    """Return a SELECT of the rows that count, with the table's columns and the stored columns in `more`.

    With `nothing`, the result includes the marker rows of empty writes; compaction copies them.
    """
    if row_type is Run:
        return _latest_run(source, column_list(Run, more))
    if row_type in FACTS:
        return _facts(row_type, source, more)
    owner = ", ".join(quoted(name) for name in layout_of(row_type).owner)
    shown = "" if nothing else f" AND NOT suffix({PART}, {literal(NOTHING)})"
    return (
        f"SELECT {column_list(row_type, more)} FROM {source(row_type)}\n"
        f"QUALIFY rank() OVER (PARTITION BY {owner} ORDER BY {PART} DESC, filename DESC) = 1{shown}"
    )


def _latest_run(source: Source, wanted: str) -> str:
    order = f"(status <> 'infrastructure') DESC, finished_at DESC, {PART} DESC, filename DESC"
    return f"SELECT {wanted} FROM {source(Run)}\nQUALIFY row_number() OVER (PARTITION BY run_key ORDER BY {order}) = 1"


def _facts(row_type: type[Any], source: Source, more: Sequence[str]) -> str:
    winners = _latest_run(source, f"run_key, {PART}")
    wanted = ", ".join(f"fact.{quoted(name)}" for name in (*(column.name for column in columns(row_type)), *more))
    return (
        f"SELECT {wanted} FROM ({winners}) AS winner\n"
        f"JOIN {source(row_type)} AS fact ON fact.run_key = winner.run_key AND fact.{PART} = winner.{PART}"
    )
