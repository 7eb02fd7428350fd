"""Results of graders and robustness checks on a snapshot so far, and which suites run again because of them."""

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
"""The reason in `golden_miss` of golden tests without runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStatus:
    """What is known of a snapshot's suites."""

    to_guard: frozenset[SuiteId]
    """Suites of candidates that any grader calls solved."""
    to_confirm: frozenset[SuiteId]
    """Would-be successes that are not robust, and a sample of the other suites."""
    table: pa.Table
    """The rows of `table2_among`, over the instances asked for."""
    misses: pa.Table
    """The rows of `golden_miss`."""
    unmeasured: Mapping[InstanceId, str]
    """Instances whose golden tests cannot be measured, and why: the rows of `golden_unmeasured`."""


def standing(places: Places, sql: Path, snapshot: str, instances: Iterable[str], policy: Policy) -> EvaluationStatus:
    """Ask the store as it is now; `sql` is the folder of questions. The table is about `instances`, if any, and about
    submissions under `policy`."""
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
