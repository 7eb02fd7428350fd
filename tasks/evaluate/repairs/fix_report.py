"""What became of fixes: resolved or not, kept by tests or not. Asks only; `sql/` says what it means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.adapters.store.rows.latest import literal
from tasks.adapters.store.views.in_memory import answers
from tasks.domain.names import SuiteId
from tasks.domain.places import Places
from tasks.evaluate.repairs.fix_runs import FixesTaken
from tasks.evaluate.repairs.rejection import said, status_question


def suites_to_guard(places: Places, sql: Path, snapshot: str) -> frozenset[SuiteId]:
    """The suites that keep a fix and have a robustness check without a run."""
    (found,) = answers(
        places.store,
        sql,
        ("fix_filter", "counted_candidate", "submission"),
        (
            f"""SELECT DISTINCT s.suite_id
                FROM fix_filter AS f
                JOIN counted_candidate AS c ON c.candidate_id = f.candidate_id AND c.snapshot = {literal(snapshot)}
                JOIN submission AS s ON s.candidate_id = f.candidate_id AND s.policy = f.policy
                WHERE f.kept AND f.robust IS NULL AND c.method NOT IN ('golden', 'nop')""",
        ),
    )
    return frozenset(SuiteId(row["suite_id"]) for row in found.to_pylist())


@dataclass(frozen=True, slots=True, kw_only=True)
class FixesJudged:
    """What the store says of the fixes of a request."""

    rates: pa.Table
    """Rows of `repair_rate`."""
    agreement: pa.Table
    """Rows of `repair_agreement`, where others judged them too."""
    filter: pa.Table
    """Rows of `repair_filter`, where tests were run on them."""
    kept: pa.Table
    """A row for each fix that some test keeps, with the keys of a repairs file."""
    statuses: str
    """How many of the different fixes have each status."""


def fixes_judged(places: Places, sql: Path, snapshot: str, taken: FixesTaken) -> FixesJudged:
    """Of the methods that these fixes are of."""
    methods = ", ".join(sorted({literal(repair.method) for repair in taken.repairs})) or "NULL"
    ids = ", ".join(sorted({literal(repair.repair_id) for repair in taken.repairs})) or "NULL"
    here = f"snapshot = {literal(snapshot)}"
    rates, agreement, filtered, kept, statuses = answers(
        places.store,
        sql,
        ("repair_rate", "repair_agreement", "repair_filter", "repair_kept", "fix_status"),
        (
            f"""SELECT method, model, tests, instances, n, unmeasured, resolved, pass_rate, pass_low, pass_high,
                       snapshot_rate, touching, strict_rate, cost_per_issue
                FROM repair_rate WHERE {here} AND method IN ({methods})""",
            f"""SELECT method, model, published, judged, agree, ours, theirs, agreement
                FROM repair_agreement WHERE {here} AND method IN ({methods})""",
            f"""SELECT method, model, repair, repair_model, scope, fixes, resolved, base_precision, kept, kept_resolved,
                       precision, recall, lift, robust_precision, robust_recall, strength
                FROM repair_filter WHERE {here} AND (repair IS NULL OR repair IN ({methods}))""",
            f"""SELECT instance_id, repair AS model_name_or_path, repair_model AS model, sample, patch AS model_patch,
                       bool_or(resolved) AS resolved, any_value(status) AS status,
                       any_value(touches_tests) AS touches_tests,
                       list(name ORDER BY name) AS kept_by, list(name ORDER BY name) FILTER (robust) AS robust_by
                FROM repair_kept WHERE {here} AND kept AND repair_id IN ({ids})
                GROUP BY ALL ORDER BY ALL""",
            status_question(taken),
        ),
    )
    return FixesJudged(rates=rates, agreement=agreement, filter=filtered, kept=kept, statuses=said(statuses))
