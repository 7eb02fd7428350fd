"""What a report is made of: the answers to questions of `sql/`, asked at once and handed out by page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.adapters.store.views.database import selection
from tasks.adapters.store.views.in_memory import answers

Row = Mapping[str, Any]
"""One row of an answer, by column."""
Rows = tuple[Row, ...]

OF_SNAPSHOT = (
    *("page_instance", "page_candidate", "page_case", "page_line", "page_fix"),
    *("page_repair", "page_repair_step"),
)
"""Macros that take the snapshot, and whether its golden side is shown."""
BY_SNAPSHOT = ("page_method", "page_grader", "page_year", "table1", "table3", "contamination", "snapshot_change")
"""Views with a column that names the snapshot."""
OF_FIXES = (
    *("repair_rate", "repair_filter", "repair_overlap", "repair_agreement"),
    *("repair_by_bad_tests", "repair_by_iteration", "repair_by_cost", "test_transitions", "page_hacking"),
    *("repair_judges", "page_repair_agent"),
)
"""The same, about repairs of the code and what tests say of them."""
COMPARING = ("method_overlap", "pairwise", "ensemble", "disagreement_reasons", "success_by_repository")
"""The same, about methods beside each other."""
EVERYWHERE = {
    "page_snapshot": selection("page_snapshot"),
    "page_trend": selection("page_trend"),
    "funnel": selection("funnel", {"repo": [None]}, ["step"]),
}


@dataclass(frozen=True, slots=True)
class ReportRows:
    """The answers for one snapshot."""

    snapshot: str
    answered: Mapping[str, Rows]

    def __getitem__(self, question: str) -> Rows:
        return self.answered[question]

    def by(self, question: str, column: str) -> Mapping[str, Rows]:
        """The rows of an answer, grouped."""
        groups: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self.answered[question]:
            groups[row[column]].append(row)
        return {key: tuple(rows) for key, rows in groups.items()}


def report_rows(store: str, sql: Path, snapshot: str, *, with_golden: bool) -> ReportRows:
    """All that the pages of a snapshot show."""
    asked = questions(snapshot, with_golden=with_golden)
    found = answers(store, sql, tuple(asked), tuple(asked.values()))
    return ReportRows(
        snapshot, {question: tuple(table.to_pylist()) for question, table in zip(asked, found, strict=True)}
    )


def questions(snapshot: str, *, with_golden: bool) -> dict[str, str]:
    """What is asked, by the name of the view or macro."""
    here = {"snapshot": [snapshot]}
    return {
        **{macro: selection(macro, arguments=(snapshot, with_golden)) for macro in OF_SNAPSHOT},
        **{view: selection(view, here) for view in (*BY_SNAPSHOT, *OF_FIXES, *COMPARING)},
        **EVERYWHERE,
    }
