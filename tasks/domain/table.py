"""Declares a dataclass as a table: the store, the views and the data dictionary use the declaration."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Table:
    """How the store handles the rows of one dataclass."""

    owner: tuple[str, ...]
    """Columns that identify the owner of a row. Of two writes with one owner, the rows of the later one count."""
    folder: str = "group"
    """Column that gives the folders their names; `group` if no column is suitable."""
    files: tuple[str, ...] = ()
    """Columns with the SHA-256 of a file under `files/`. A file that no column refers to is garbage."""
    of_run: bool = False
    """Whether rows count only if the `run` row of the same `run_key` refers to their part."""


DECLARED: dict[type[Any], Table] = {}
"""All imported tables; importing `tables.TABLES` imports every table."""


def table(
    *owner: str, folder: str = "group", files: tuple[str, ...] = (), of_run: bool = False
) -> Callable[[type[Row]], type[Row]]:
    """Declares a dataclass as a table; the arguments are the fields of `Table`.

    Raises `TypeError` if a column is not a field. It must be above `@dataclass`, because `@dataclass` with slots
    creates a new class.
    """

    def declare(row_type: type[Row]) -> type[Row]:
        known = getattr(row_type, "__dataclass_fields__", {})
        # Rows of a run are in the folder of their run, and do not have the column of that folder.
        named = {*owner, *files, *(() if of_run or folder == "group" else (folder,))}
        if unknown := sorted(named - set(known)):
            raise TypeError(f"{row_type.__name__} has no field {', '.join(unknown)} to be a table by")
        DECLARED[row_type] = Table(owner=owner, folder=folder, files=files, of_run=of_run)
        return row_type

    return declare


def table_name(row_type: type[Any]) -> str:
    """Returns `case_outcome` for `CaseOutcome`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", row_type.__name__).lower()
