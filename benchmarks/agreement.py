"""How often do our graders agree with verdicts that the public harness published for the same predictions?

    python -m benchmarks.agreement VERDICTS.jsonl --method NAME --snapshot NAME

`VERDICTS.jsonl` holds one object per line: `instance_id` and `resolved`. Evaluate the predictions first. Every
disagreement is printed with the outcomes that it comes from.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from flows.asking import text_table
from flows.settings import settings_from
from tasks.adapters.store.duck import connected

AGREEMENT = """
    SELECT split_part(v.instance_id, '__', 1) AS project, v.grader, count(*) AS n,
           count(*) FILTER (v.measured) AS measured, count(*) FILTER (p.resolved) AS published,
           count(*) FILTER (v.solved) AS ours, count(*) FILTER (v.solved = p.resolved) AS equal
    FROM verdict AS v JOIN published AS p USING (instance_id)
    WHERE v.method = $method AND v.snapshot = $snapshot AND v.sample = 0
    GROUP BY GROUPING SETS ((project, v.grader), (v.grader)) ORDER BY v.grader, project NULLS LAST
"""
DISAGREEMENTS = """
    SELECT v.grader, v.instance_id, p.resolved AS published, v.solved AS ours, v.reason,
           list(DISTINCT c.candidate_before || '→' || c.candidate_after) AS cases, count(*) AS n_cases,
           any_value(s.detail) AS run_detail
    FROM verdict AS v JOIN published AS p USING (instance_id)
    LEFT JOIN submission_case AS c ON c.candidate_id = v.candidate_id AND c.policy = v.policy AND c.in_t
    LEFT JOIN (
        SELECT u.candidate_id, u.policy, string_agg(DISTINCT r.status || ' ' || r.detail) AS detail
        FROM submission AS u JOIN run AS r ON r.suite_id = u.suite_id GROUP BY ALL
    ) AS s ON s.candidate_id = v.candidate_id AND s.policy = v.policy
    WHERE v.method = $method AND v.snapshot = $snapshot AND v.sample = 0 AND v.solved IS DISTINCT FROM p.resolved
    GROUP BY ALL ORDER BY v.grader, v.instance_id
"""


def main(
    verdicts: Annotated[Path, typer.Argument(help="Published verdicts: JSON lines with instance_id and resolved.")],
    method: Annotated[str, typer.Option(help="Name of the method in the predictions file.")],
    snapshot: Annotated[str, typer.Option(help="Snapshot that the predictions were evaluated on.")],
) -> None:
    """Print the agreement per project and grader, and every disagreement."""
    rows = [json.loads(line) for line in verdicts.read_text().splitlines() if line.strip()]
    published = pa.table({name: [row[name] for row in rows] for name in ("instance_id", "resolved")})
    with connected(settings_from(os.environ).database) as connection:
        connection.register("published", published)
        for sql in (AGREEMENT, DISAGREEMENTS):
            answer = connection.sql(sql, params={"method": method, "snapshot": snapshot}).to_arrow_table()
            typer.echo(text_table(answer))


if __name__ == "__main__":
    typer.run(main)
