"""Reports which fixes are resolved and which the tests keep. Only reads the store; the queries are in `sql/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.views.database import selection
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import SuiteId
from tasks.domain.places import Places
from tasks.evaluate.repairs.fix_runs import FixesTaken
from tasks.evaluate.repairs.rejection import fixes_question, said

RATE = (
    *("method", "model", "tests", "instances", "n", "unmeasured", "resolved", "pass_rate", "pass_low", "pass_high"),
    *("snapshot_rate", "touching", "strict_rate", "cost_per_issue"),
)
AGREEMENT = ("method", "model", "published", "judged", "agree", "ours", "theirs", "agreement")
FILTER = (
    *("method", "model", "repair", "repair_model", "scope", "fixes", "resolved", "base_precision", "kept"),
    *("kept_resolved", "precision", "recall", "lift", "robust_precision", "robust_recall", "strength"),
)
"""The columns of these views that a request displays."""
ORDER = [(name, "ascending") for name in ("instance_id", "model_name_or_path", "model", "sample", "model_patch")]


def suites_to_guard(places: Places, sql: Path, snapshot: str) -> frozenset[SuiteId]:
    """Returns the suites that keep a fix and have a robustness check without a run."""
    asked = selection("fix_suite_to_guard", {"snapshot": [snapshot]})
    (found,) = answers(places.store, sql, ("fix_suite_to_guard",), (asked,))
    return frozenset(SuiteId(row["suite_id"]) for row in found.to_pylist())


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesJudged:
    """The stored results for the fixes of a request."""

    rates: pa.Table
    """Rows of `repair_rate`."""
    agreement: pa.Table
    """Rows of `repair_agreement`, for fixes with a published verdict."""
    filter: pa.Table
    """Rows of `repair_filter`, for fixes on which tests were run."""
    kept: pa.Table
    """One row per fix that some test keeps, with the keys of a repairs file."""
    statuses: str
    """Number of distinct fixes by status."""


def fixes_judged(places: Places, sql: Path, snapshot: str, taken: FixesTaken) -> FixesJudged:
    """Returns the results for the methods of these fixes."""
    here: dict[str, list[str]] = {"snapshot": [snapshot]}
    methods = sorted({repair.method for repair in taken.repairs})
    ids = sorted({repair.repair_id for repair in taken.repairs})
    rates, agreement, filtered, kept, statuses = answers(
        places.store,
        sql,
        ("repair_rate", "repair_agreement", "repair_filter", "kept_fix", "fix_status"),
        (
            selection("repair_rate", {**here, "method": methods}),
            selection("repair_agreement", {**here, "method": methods}),
            selection("repair_filter", {**here, "repair": [None, *methods]}),
            selection("kept_fix", {**here, "repair_id": ids}),
            fixes_question(taken),
        ),
    )
    return FixesJudged(
        rates=rates.select(RATE),
        agreement=agreement.select(AGREEMENT),
        filter=filtered.select(FILTER),
        kept=kept.drop_columns(["snapshot", "repair_id"]).sort_by(ORDER),
        statuses=said(statuses),
    )
