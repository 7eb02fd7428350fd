"""Which verdicts of the grader `paper` changed with its definition of 2026-11-29?

    python -m benchmarks.changed_verdicts SNAPSHOT … [--method golden]

Evaluate the method on the snapshots first. Printed are two Markdown tables: how many verdicts there are and how many
changed, and each one that changed. The rule until then is kept only here: a suite was solved where some case of T goes
from failing to passing and every case of T passes on the fixed code, cases being told apart by their ids.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from benchmarks.agreement import markdown
from flows.interface.settings import settings_from
from tasks.adapters.store.files.duckdb_connection import connected

BEFORE = """
    CREATE TEMP TABLE before AS
    WITH known AS (
        SELECT c.*, v.snapshot, v.instance_id,
               -- Without pairs by place, a case whose id differs from that in suite `none` was taken for a new one.
               c.in_t OR (c.pair <> 'id' AND NOT c.is_collect AND coalesce(c.before_id, c.after_id) IS NOT NULL)
                   AS was_in_t
        FROM submission_case AS c JOIN verdict AS v USING (candidate_id, policy)
        WHERE v.grader = 'paper' AND v.measured AND v.method = $method AND list_contains($snapshots, v.snapshot)
    ),
    -- A case that is paired by place was two cases, each missing on one side.
    by_id AS (
        SELECT snapshot, candidate_id, policy, unnest(CASE
            WHEN before_id <> after_id THEN [
                {'before': candidate_before, 'after': 'missing', 'split': true},
                {'before': 'missing', 'after': candidate_after, 'split': true}
            ]
            ELSE [{'before': candidate_before, 'after': candidate_after, 'split': false}]
        END, recursive := true)
        FROM known WHERE was_in_t
    )
    SELECT snapshot, candidate_id, policy,
           bool_or(fails(before) AND after = 'passed') AND bool_and(after = 'passed') AS solved,
           CASE
               WHEN bool_or(fails(after)) THEN 'fails-after'
               WHEN bool_or(after <> 'passed') THEN 'not-passed-after'
               WHEN NOT bool_or(fails(before)) THEN 'passes-before'
               WHEN NOT bool_or(fails(before) AND after = 'passed') THEN 'no-fail-to-pass'
               ELSE ''
           END AS reason,
           count(*) AS cases,
           count(*) FILTER (after = 'skipped') AS skipped,
           count(*) FILTER (after IN ('xfailed', 'xpassed')) AS expected,
           count(*) FILTER (split) / 2 AS by_place
    FROM by_id GROUP BY snapshot, candidate_id, policy
"""
NOW = """
    CREATE TEMP TABLE changed AS
    SELECT v.snapshot, v.instance_id, v.policy, coalesce(b.solved, false) AS was, v.solved AS now,
           coalesce(b.reason, v.reason) AS reason_before, v.reason AS reason_now,
           b.cases, b.skipped, b.expected, b.by_place
    FROM verdict AS v LEFT JOIN before AS b USING (snapshot, candidate_id, policy)
    WHERE v.grader = 'paper' AND v.measured AND v.method = $method AND list_contains($snapshots, v.snapshot)
"""
COUNTS = """
    SELECT snapshot, count(*) AS measured,
           count(*) FILTER (was) AS "solved before", count(*) FILTER (now) AS "solved now",
           count(*) FILTER (now AND NOT was) AS gained, count(*) FILTER (was AND NOT now) AS lost
    FROM changed GROUP BY snapshot ORDER BY snapshot
"""
CHANGED = """
    SELECT snapshot, instance_id, policy, CASE WHEN was THEN 'solved' ELSE reason_before END AS before,
           CASE WHEN now THEN 'solved' ELSE reason_now END AS now, cases AS "cases of T, by id",
           skipped AS "skipped after", expected AS "xfailed or xpassed after", by_place::BIGINT AS "paired by place"
    FROM changed WHERE was <> now ORDER BY snapshot, instance_id, policy
"""


def main(
    snapshots: Annotated[list[str], typer.Argument(help="Snapshots that the method was evaluated on.")],
    method: Annotated[str, typer.Option(help="Whose verdicts.")] = "golden",
) -> None:
    """Print the tables."""
    with connected(settings_from(os.environ).database) as connection:
        for sql in (BEFORE, NOW):
            connection.execute(sql, {"snapshots": snapshots, "method": method})
        for sql in (COUNTS, CHANGED):
            typer.echo(markdown(connection.sql(sql).to_arrow_table()))


if __name__ == "__main__":
    typer.run(main)
