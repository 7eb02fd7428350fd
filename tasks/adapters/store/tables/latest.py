"""Which stored rows count, as SQL: the one definition behind the views and behind `Store.read`.

Every rule below looks at one listing of the files of one table, so a file that appears or goes while somebody reads
never makes a row count twice:

- `run`: of several rows with one key, one that is not `infrastructure`, then the latest;
- outcomes and lines: those of the part that the `run` row names. The run is bound first, so its facts are there;
- other tables: for each owner (layout.py), the rows of the latest write; none where that write had none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tasks.adapters.store.files.layout import FACTS, NOTHING, PART, layout_of
from tasks.adapters.store.files.schema import columns
from tasks.domain.run import Run

Source = Callable[[type[Any]], str]
"""Table → what to put after FROM: all stored rows with `_part` and the `filename` that they came from."""


def quoted(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def column_list(row_type: type[Any], more: Sequence[str] = ()) -> str:
    """The columns of a table and further ones, for SELECT."""
    return ", ".join(quoted(name) for name in (*(column.name for column in columns(row_type)), *more))


def latest(row_type: type[Any], source: Source, *, more: Sequence[str] = (), nothing: bool = False) -> str:
    """SELECT of the rows that count, with the table's columns and `more` of those that are stored.

    With `nothing`, rows that stand for none are among them: for whoever writes them to another file.
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
