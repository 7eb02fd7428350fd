"""Do two versions of this project answer the same from their stores?

    python -m benchmarks.same_results BEFORE.duckdb AFTER.duckdb

Run each version on a copy of one store, or on the same instances, and compare the database files that they write.
Printed is a Markdown table: for each question the rows of both, how many differ, and a hash of the rows before. Exit
code 1 if any row differs. Times, costs of CPU and drawn robustness checks are left out.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from benchmarks.agreement import markdown
from tasks.adapters.store.files.duckdb_connection import connected

QUESTIONS = {
    "runs": "SELECT run_key, status, cases FROM run",
    "outcomes": "SELECT run_key, case_id, phase, outcome FROM case_outcome",
    "executed lines": "SELECT run_key, path, case_id, lines FROM line_hit",
    "verdicts": "SELECT snapshot, instance_id, method, sample, policy, grader, measured, solved, reason FROM verdict",
    "change coverage": "SELECT candidate_id, policy, definition, delta_c FROM change_coverage",
    "fixes": "SELECT fix_id, instance_id, status FROM fix_status",
    "leaderboard": "SELECT snapshot, method, model, n, W, S, F_X, F_P, P_P FROM leaderboard",
}
"""Name → statement over the views of a database file."""


def main(
    before: Annotated[Path, typer.Argument(help="Database file of the older version.", exists=True)],
    after: Annotated[Path, typer.Argument(help="Database file of the newer version.", exists=True)],
) -> None:
    """Compare the answers of two database files."""
    found = []
    for name, sql in QUESTIONS.items():
        old, new = rows(before, sql), rows(after, sql)
        digest = hashlib.sha256(repr(old).encode()).hexdigest()[:12]
        found.append(
            {"question": name, "before": len(old), "after": len(new), "differ": differing(old, new), "hash": digest}
        )
    print(markdown(pa.Table.from_pylist(found)))
    raise typer.Exit(any(row["differ"] for row in found))


def rows(database: Path, sql: str) -> list[tuple[object, ...]]:
    """The rows of a statement, sorted by their text."""
    with connected(database) as connection:
        return sorted(connection.sql(sql).fetchall(), key=repr)


def differing(old: list[tuple[object, ...]], new: list[tuple[object, ...]]) -> int:
    """How many rows are on one side only."""
    return len(set(map(repr, old)) ^ set(map(repr, new)))


if __name__ == "__main__":
    typer.run(main)
