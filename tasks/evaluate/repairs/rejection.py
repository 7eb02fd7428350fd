"""Selects the candidates to run on wrong fixes, and reads their rejection rates. Only reads the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.views.database import selection
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.evaluate.repairs.fix_runs import FixesTaken


def judged_suites(places: Places, sql: Path, snapshot: str) -> dict[InstanceId, tuple[SuiteId, ...]]:
    """Returns the golden suite of each instance and the suites of candidates that the grader `paper` counts as
    solved."""
    asked = selection("judged_suite", {"snapshot": [snapshot]})
    (found,) = answers(places.store, sql, ("judged_suite",), (asked,))
    return {
        InstanceId(row["instance_id"]): tuple(
            SuiteId(suite) for suite in dict.fromkeys([row["golden"], *row["solved"]]) if suite
        )
        for row in found.to_pylist()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """The rejection rates of a snapshot's methods on proposed fixes."""

    table: pa.Table
    """The rows of `strength`."""
    statuses: str
    """Number of proposed fixes by status."""


def strength_of(places: Places, sql: Path, snapshot: str, taken: FixesTaken) -> Strength:
    """Returns the rejection rates of the snapshot's methods and the statuses of these fixes."""
    table, statuses = answers(
        places.store,
        sql,
        ("strength", "fix_status"),
        (selection("strength", {"snapshot": [snapshot]}), fixes_question(taken)),
    )
    return Strength(table=table, statuses=said(statuses))


def fixes_question(taken: FixesTaken) -> str:
    """Returns the SQL query for the status of each of these fixes."""
    return selection("fix_status", {"fix_id": sorted({repair.fix_id for repair in taken.repairs})})


def said(statuses: pa.Table) -> str:
    """Returns the number of rows per status as text."""
    counts = Counter(statuses["status"].to_pylist())
    return ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "none"
