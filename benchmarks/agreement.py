"""How often do our graders agree with verdicts that the public harness published for the same predictions?

    python -m benchmarks.agreement METHOD=VERDICTS.jsonl … --snapshot NAME

`VERDICTS.jsonl` holds one object per line: `instance_id` and `resolved`. Evaluate the predictions first, each file
under its METHOD. Printed are three Markdown tables: agreement by method, repository and grader; each difference with
the outcomes it comes from; and the published verdicts that nothing was measured for, with the reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from flows.interface.settings import settings_from
from tasks.adapters.store.files.duckdb_connection import connected

GROUPS = ("project", "repository")
"""Columns by which the tables are grouped."""
JUDGED = """
    CREATE TEMP TABLE judged AS
    SELECT p.method, p.instance_id, replace(split_part(p.instance_id, '__', 1), '_', '-') AS project, p.resolved,
           v.grader, coalesce(v.measured, false) AS measured, v.solved, v.reason, v.candidate_id, v.policy
    FROM published AS p
    LEFT JOIN verdict AS v ON v.instance_id = p.instance_id AND v.method = p.method
        AND v.snapshot = $snapshot AND v.sample = 0
"""
AGREEMENT = """
    PIVOT (
        SELECT method, project, grader, count(*) FILTER (solved = resolved) || ' of ' || count(*) AS agreed
        FROM judged WHERE measured GROUP BY GROUPING SETS ((method, project, grader), (method, grader))
    ) ON grader USING any_value(agreed) GROUP BY method, project ORDER BY method, project NULLS LAST
"""
DIFFERENCES = """
    SELECT method, instance_id, CASE WHEN resolved THEN 'resolved' ELSE 'not' END AS published,
           string_agg(grader || ': ' || CASE WHEN solved THEN 'solved' ELSE reason END, '; ' ORDER BY grader) AS ours,
           any_value(cases) AS cases
    FROM judged LEFT JOIN (
        SELECT candidate_id, policy, string_agg(outcomes || ' ×' || n, ', ' ORDER BY outcomes) AS cases
        FROM (
            SELECT candidate_id, policy, candidate_before || '→' || candidate_after AS outcomes, count(*) AS n
            FROM submission_case WHERE in_t GROUP BY ALL
        ) GROUP BY ALL
    ) USING (candidate_id, policy)
    WHERE measured GROUP BY method, instance_id, resolved
    HAVING bool_or(solved <> resolved) ORDER BY method, instance_id
"""
UNMEASURED = """
    SELECT method, count(DISTINCT instance_id) AS n, coalesce(max(reason), 'not evaluated') AS reason,
           string_agg(DISTINCT instance_id, ', ' ORDER BY instance_id) AS instances
    FROM judged WHERE NOT measured GROUP BY method, coalesce(reason, '') ORDER BY method, n DESC
"""


def main(
    verdicts: Annotated[list[str], typer.Argument(help="METHOD=FILE: published verdicts as JSON lines.")],
    snapshot: Annotated[str, typer.Option(help="Snapshot that the predictions were evaluated on.")],
) -> None:
    """Print the agreement by method, repository and grader, every difference, and what was not measured."""
    published = pa.Table.from_pylist([row for each in verdicts for row in _published(each)])
    with connected(settings_from(os.environ).database) as connection:
        connection.register("published", published)
        connection.execute(JUDGED, {"snapshot": snapshot})
        for sql in (AGREEMENT, DIFFERENCES, UNMEASURED):
            typer.echo(markdown(connection.sql(sql).to_arrow_table()))


def _published(given: str) -> list[dict[str, object]]:
    method, found, path = given.partition("=")
    if not found:
        raise typer.BadParameter(f"{given!r} is not METHOD=FILE")
    rows = [json.loads(line) for line in Path(path).read_text().splitlines() if line.strip()]
    return [{"method": method, "instance_id": row["instance_id"], "resolved": row["resolved"]} for row in rows]


def markdown(table: pa.Table) -> str:
    """As a Markdown table; a null group is the row over all, any other null a dash."""
    cells = [
        [("**all**" if name in GROUPS else "-") if cell is None else str(cell) for name, cell in row.items()]
        for row in table.to_pylist()
    ]
    rows: list[list[str]] = [table.column_names, ["---"] * table.num_columns, *cells]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


if __name__ == "__main__":
    typer.run(main)
