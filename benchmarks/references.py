"""Do golden tests here do what a data set's lists say, and what do they and the changed lines come to?

    python -m benchmarks.references SNAPSHOT …

Evaluate `golden` and `nop` on the snapshots first. Printed are three Markdown tables: by repository (lists, graders,
`nop`, seconds of one golden run on the fixed code), golden change coverage by both definitions, and each instance where
anything is not as the lists or the graders want it, with the cause.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from benchmarks.agreement import markdown
from flows.settings import settings_from
from tasks.adapters.store.duck import connected

JUDGED = """
    CREATE TEMP TABLE judged AS
    SELECT snapshot, instance_id, method, grader, coalesce(measured, false) AS measured, solved, reason, candidate_id,
           policy
    FROM verdict WHERE method IN ('golden', 'nop') AND list_contains($snapshots, snapshot)
"""
COVERED = """
    CREATE TEMP TABLE covered AS
    SELECT DISTINCT j.snapshot, j.instance_id, d.definition, d.measured, d.delta_c
    FROM judged AS j JOIN change_coverage AS d USING (candidate_id, policy) WHERE j.method = 'golden'
"""
INSTANCE = """
    CREATE TEMP TABLE instance AS
    SELECT r.snapshot, r.instance_id, replace(split_part(r.instance_id, '__', 1), '_', '-') AS project,
           r.measured, r.f2p_ok, r.p2p_ok, r.f2p_misses, r.p2p_misses, f2p_artefacts, p2p_artefacts,
           s.wall_s, s.cpu_s, m.reason, m.detail
    FROM instance_reference AS r
    LEFT JOIN (
        SELECT instance_key, median(wall_s) AS wall_s, median(cpu_s) AS cpu_s
        FROM run JOIN golden_suite USING (instance_key, suite_id)
        WHERE code_state = 'after' AND status = 'completed' GROUP BY instance_key
    ) AS s USING (instance_key)
    LEFT JOIN golden_miss AS m USING (snapshot, instance_id)
    WHERE list_contains($snapshots, r.snapshot)
"""
BY_REPOSITORY = """
    WITH golden AS (
        PIVOT (SELECT snapshot, instance_id, grader, solved FROM judged WHERE method = 'golden' AND measured)
        ON grader USING bool_or(solved)
    ),
    nop AS (
        SELECT snapshot, instance_id, bool_or(solved) AS solved
        FROM judged WHERE method = 'nop' AND measured GROUP BY ALL
    )
    SELECT i.snapshot, i.project AS repository, count(*) AS rows, count(*) FILTER (i.measured) AS judged,
           count(*) FILTER (i.f2p_ok) AS "F2P ok", count(*) FILTER (i.p2p_ok) AS "P2P ok",
           count(*) FILTER (g.paper) AS "golden: paper", count(*) FILTER (g.swt_bench) AS swt_bench,
           count(*) FILTER (g.swt_bench_2024) AS swt_bench_2024, count(*) FILTER (n.solved) AS nop,
           round(median(i.cpu_s), 1) AS "CPU s", round(max(i.cpu_s), 1) AS "at most"
    FROM instance AS i
    LEFT JOIN golden AS g USING (snapshot, instance_id)
    LEFT JOIN nop AS n USING (snapshot, instance_id)
    GROUP BY GROUPING SETS ((i.snapshot, i.project), (i.snapshot)) ORDER BY i.snapshot, count(*) DESC, i.project
"""
COVERAGE = """
    SELECT snapshot, definition, count(*) FILTER (measured) AS instances, count(delta_c) AS "with executable lines",
           round(100 * avg(delta_c), 1) AS "mean ΔC, %", round(100 * median(delta_c), 1) AS "median, %",
           count(*) FILTER (delta_c = 0) AS "ΔC = 0"
    FROM covered GROUP BY snapshot, definition ORDER BY snapshot, definition
"""
MISSES = """
    SELECT snapshot, instance_id,
           concat_ws('; ',
               CASE WHEN NOT measured THEN 'not measured' END,
               CASE WHEN NOT f2p_ok THEN 'F2P: ' || len(f2p_misses) || ', first ' || f2p_misses[1] END,
               CASE WHEN NOT p2p_ok THEN 'P2P: ' || len(p2p_misses) || ', first ' || p2p_misses[1] END,
               CASE WHEN reason IS NOT NULL THEN 'not solved (paper): ' || reason END) AS miss,
           coalesce(left(replace(detail, chr(10), ' '), 160), '') AS cause
    FROM instance WHERE NOT measured OR NOT f2p_ok OR NOT p2p_ok OR reason IS NOT NULL
    ORDER BY snapshot, instance_id
"""


def main(
    snapshots: Annotated[list[str], typer.Argument(help="Snapshots that golden and nop were evaluated on.")],
) -> None:
    """Print the three tables."""
    with connected(settings_from(os.environ).database) as connection:
        for sql in (JUDGED, COVERED, INSTANCE):
            connection.execute(sql, {"snapshots": snapshots} if "$snapshots" in sql else None)
        for sql in (BY_REPOSITORY, COVERAGE, MISSES):
            typer.echo(markdown(connection.sql(sql).to_arrow_table()))


if __name__ == "__main__":
    typer.run(main)
