"""What tests are worth on fixes of others: which candidates are held against them, and what comes of it. Asks only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.rows.latest import literal
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import InstanceId, SuiteId
from tasks.domain.places import Places
from tasks.evaluate.repairs.fix_runs import FixesTaken


def judged_suites(places: Places, sql: Path, snapshot: str) -> dict[InstanceId, tuple[SuiteId, ...]]:
    """The golden suite of each instance, and those of the candidates that the grader `paper` calls solved."""
    (found,) = answers(
        places.store,
        sql,
        ("golden_suite", "task_instance", "verdict", "submission"),
        (
            f"""SELECT t.instance_id, g.suite_id AS golden, list(s.suite_id ORDER BY s.suite_id) AS solved
                FROM task_instance AS t
                JOIN golden_suite AS g ON g.instance_key = t.instance_key
                LEFT JOIN verdict AS v
                    ON v.snapshot = t.snapshot AND v.instance_id = t.instance_id AND v.grader = 'paper' AND v.solved
                LEFT JOIN submission AS s ON s.candidate_id = v.candidate_id AND s.policy = v.policy
                WHERE t.snapshot = {literal(snapshot)}
                GROUP BY ALL""",
        ),
    )
    return {
        InstanceId(row["instance_id"]): tuple(
            SuiteId(suite) for suite in dict.fromkeys([row["golden"], *row["solved"]]) if suite
        )
        for row in found.to_pylist()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What the store says of a snapshot's methods on fixes of others."""

    table: pa.Table
    """The rows of `strength`."""
    statuses: str
    """How many of the fixes that were proposed are resolved, and how many not."""


def strength_of(places: Places, sql: Path, snapshot: str, taken: FixesTaken) -> Strength:
    """The strength of the snapshot's methods, and what became of these fixes."""
    table, statuses = answers(
        places.store,
        sql,
        ("strength", "fix_status"),
        (f"FROM strength WHERE snapshot = {literal(snapshot)}", status_question(taken)),
    )
    return Strength(table=table, statuses=said(statuses))


def status_question(taken: FixesTaken) -> str:
    """How many of these fixes have each status."""
    ids = sorted({repair.fix_id for repair in taken.repairs})
    return f"""SELECT status, count(*) AS n FROM fix_status
               WHERE fix_id IN ({", ".join(map(literal, ids)) or "NULL"}) GROUP BY status ORDER BY status"""


def said(statuses: pa.Table) -> str:
    """The rows of `status_question` in words."""
    return ", ".join(f"{row['n']} {row['status']}" for row in statuses.to_pylist()) or "none"
