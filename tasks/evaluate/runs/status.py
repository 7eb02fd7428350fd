"""Reads the results of graders and robustness checks on a snapshot so far, and which suites run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.views.cached_answers import kept_answers
from tasks.adapters.store.views.database import selection
from tasks.domain.names import InstanceId, SuiteId
from tasks.domain.outcome import Policy
from tasks.domain.places import Places

NOT_RUN = "not-run"
"""The reason in `golden_miss` for golden tests without runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStatus:
    """The results so far for the suites of a snapshot."""

    to_guard: frozenset[SuiteId]
    """Suites of candidates that any grader counts as solved."""
    to_confirm: frozenset[SuiteId]
    """Successes that are not robust, and a sample of the other suites."""
    table: pa.Table
    """The rows of `table2_among`, over the requested instances."""
    misses: pa.Table
    """The rows of `golden_miss`."""
    unmeasured: Mapping[InstanceId, str]
    """Instances whose golden tests cannot be measured, with the reason: the rows of `golden_unmeasured`."""


def standing(places: Places, sql: Path, snapshot: str, instances: Iterable[str], policy: Policy) -> EvaluationStatus:
    """Queries the current store; `sql` is the folder of queries.

    The table covers `instances` (all if empty) and submissions under `policy`.
    """
    here = {"snapshot": [snapshot]}
    suites, table, misses, unmeasured = kept_answers(
        places.store,
        sql,
        ("suite_to_repeat", "table2_by", "golden_miss", "golden_unmeasured"),
        (
            selection("suite_to_repeat", here),
            selection("table2_among", here, arguments=("paper", policy, tuple(instances) or None)),
            selection("golden_miss", here),
            selection("golden_unmeasured", here),
        ),
        places.answers,
    )
    rows = suites.to_pylist()
    return EvaluationStatus(
        to_guard=frozenset(SuiteId(row["suite_id"]) for row in rows if row["to_guard"]),
        to_confirm=frozenset(SuiteId(row["suite_id"]) for row in rows if row["to_confirm"]),
        table=table,
        misses=misses,
        unmeasured={row["instance_id"]: f"{row['reason']}: {row['detail']}" for row in unmeasured.to_pylist()},
    )
