"""Do golden tests here do what a data set's lists say, and what do they and the changed lines come to?

    python -m benchmarks.references SNAPSHOT …

Evaluate `golden` and `nop` on the snapshots first. Printed are Markdown tables: by repository (lists where the data set
has them, graders, `nop`, CPU seconds of one golden run on the fixed code), golden change coverage by both definitions,
each instance where anything is not as the lists or the graders want it, with the cause, and those without a verdict.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from benchmarks.agreement import markdown
from flows.interface.settings import settings_from
from tasks.adapters.store.files.duckdb_connection import connected

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
    SELECT t.snapshot, t.instance_id, replace(split_part(t.instance_id, '__', 1), '_', '-') AS project,
           coalesce(g.measured, false) AS measured, r.instance_id IS NOT NULL AS has_lists,
           r.f2p_ok, r.p2p_ok, r.f2p_misses, r.p2p_misses, s.wall_s, s.cpu_s, m.reason, m.detail
    FROM task_instance AS t
    LEFT JOIN instance_reference AS r USING (snapshot, instance_id)
    LEFT JOIN judged AS g
        ON g.snapshot = t.snapshot AND g.instance_id = t.instance_id AND g.method = 'golden' AND g.grader = 'paper'
    LEFT JOIN (
        SELECT instance_key, median(wall_s) AS wall_s, median(cpu_s) AS cpu_s
        FROM run JOIN golden_suite USING (instance_key, suite_id)
        WHERE code_state = 'after' AND status = 'completed' GROUP BY instance_key
    ) AS s ON s.instance_key = t.instance_key
    LEFT JOIN golden_miss AS m ON m.snapshot = t.snapshot AND m.instance_id = t.instance_id
    WHERE list_contains($snapshots, t.snapshot)
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
           CASE WHEN bool_or(i.has_lists) THEN count(*) FILTER (i.f2p_ok)::VARCHAR ELSE '-' END AS "F2P ok",
           CASE WHEN bool_or(i.has_lists) THEN count(*) FILTER (i.p2p_ok)::VARCHAR ELSE '-' END AS "P2P ok",
           count(*) FILTER (g.paper) AS "golden: paper", count(*) FILTER (g.swt_bench) AS swt_bench,
           count(*) FILTER (g.swt_bench_2024) AS swt_bench_2024, count(*) FILTER (n.solved) AS nop,
           coalesce(round(median(i.cpu_s), 1)::VARCHAR, '-') AS "CPU s",
           coalesce(round(max(i.cpu_s), 1)::VARCHAR, '-') AS "at most"
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
               CASE WHEN NOT f2p_ok THEN 'F2P: ' || len(f2p_misses) || ', first ' || f2p_misses[1] END,
               CASE WHEN NOT p2p_ok THEN 'P2P: ' || len(p2p_misses) || ', first ' || p2p_misses[1] END,
               CASE WHEN reason IS NOT NULL THEN 'not solved (paper): ' || reason END) AS miss,
           coalesce(left(replace(detail, chr(10), ' '), 160), '') AS cause
    FROM instance WHERE measured AND (NOT f2p_ok OR NOT p2p_ok OR reason IS NOT NULL) ORDER BY snapshot, instance_id
"""
UNMEASURED = """
    SELECT snapshot, project AS repository, coalesce(nullif(detail, ''), reason, 'not evaluated') AS cause,
           count(*) AS instances, string_agg(split_part(instance_id, '-', -1), ', ' ORDER BY instance_id) AS numbers
    FROM instance WHERE NOT measured GROUP BY ALL ORDER BY ALL
"""


def main(
    snapshots: Annotated[list[str], typer.Argument(help="Snapshots that golden and nop were evaluated on.")],
) -> None:
    """Print the tables."""
    with connected(settings_from(os.environ).database) as connection:
        for sql in (JUDGED, COVERED, INSTANCE):
            connection.execute(sql, {"snapshots": snapshots} if "$snapshots" in sql else None)
        for sql in (BY_REPOSITORY, COVERAGE, MISSES, UNMEASURED):
            typer.echo(markdown(connection.sql(sql).to_arrow_table()))


if __name__ == "__main__":
    typer.run(main)
