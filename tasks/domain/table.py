"""A table is declared where its rows are: one decorator on the dataclass, and store, views and dictionary know it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Table:
    """How the rows of one dataclass are kept."""

    owner: tuple[str, ...]
    """Columns that say what a row is about. Of two writes about one owner, the rows of the later one count."""
    folder: str = "group"
    """Column that the folders are named after; `group` where no column is fit for it."""
    files: tuple[str, ...] = ()
    """Columns that name a file under `files/` by its SHA-256. A file that none of them names is garbage."""
    of_run: bool = False
    """Whether rows count only if the `run` row of the same `run_key` names their part."""


DECLARED: dict[type[Any], Table] = {}
"""Every table that has been imported; `tables.TABLES` has imported them all."""


def table(
    *owner: str, folder: str = "group", files: tuple[str, ...] = (), of_run: bool = False
) -> Callable[[type[Row]], type[Row]]:
    """Declare a dataclass as a table; the arguments are the fields of `Table`. `TypeError` where a column is no field.

    It stands above `@dataclass`: with slots that one makes a new class.
    """

    def declare(row_type: type[Row]) -> type[Row]:
        known = getattr(row_type, "__dataclass_fields__", {})
        # What belongs to a run lies in the folder of its run, whose column it does not have.
        named = {*owner, *files, *(() if of_run or folder == "group" else (folder,))}
        if unknown := sorted(named - set(known)):
            raise TypeError(f"{row_type.__name__} has no field {', '.join(unknown)} to be a table by")
        DECLARED[row_type] = Table(owner=owner, folder=folder, files=files, of_run=of_run)
        return row_type

    return declare


def table_name(row_type: type[Any]) -> str:
    """`CaseOutcome` → `case_outcome`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", row_type.__name__).lower()
