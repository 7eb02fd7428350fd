"""The audits of `sql/audits`: questions that must find nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.loaded import answers
from tasks.adapters.store.questions import named_queries

FOLDER = "audits"


@dataclass(frozen=True, slots=True)
class Audit:
    """What one audit found."""

    name: str
    about: str
    """What its file says that must not be there."""
    rows: pa.Table


def audits(store_root: str, sql: Path) -> tuple[Audit, ...]:
    """Every audit over the rows that are there now, by name; their rows in order."""
    asked = sorted((one for one in named_queries(sql) if one.kind == FOLDER), key=lambda one: one.name)
    names = [one.name for one in asked]
    found = answers(store_root, sql, names, [f"FROM {name} ORDER BY ALL" for name in names])
    return tuple(Audit(one.name, one.description, rows) for one, rows in zip(asked, found, strict=True))
