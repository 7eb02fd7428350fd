"""The report of a large snapshot: CPU seconds and bytes of a first build, of one that changes nothing, of one instance.

    python -m benchmarks.report_size --instances 300 --methods 60 --work FOLDER

Rows are generated, plainly: every method has one candidate with three cases for each instance, some solve, some fail,
some are not well-formed; statements, patches and messages are as long as those of SWE-bench Lite. They stand in memory,
so reading Parquet is not in the figures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import duckdb

from tasks.adapters.store.files.schema import arrow_schema
from tasks.adapters.store.rows.latest import literal
from tasks.adapters.store.views.sql_files import as_tables, define, named_queries, needed_by
from tasks.domain.table import table_name
from tasks.domain.tables import TABLES
from tasks.report.rows import ReportRows, questions
from tasks.report.talk import Talk
from tasks.report.task import SiteMade, write_site

SQL = Path(__file__).parents[1] / "sql"
WORDS = "The function returns the wrong value when it is given an empty list, and raises for a tuple of two. "
LINE = "    value = compute(first, second, flag=True)  # what was asked for\n"
HEAD = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n"
FIX = HEAD.format("src/module.py") + "@@ -1,36 +1,40 @@ def f():\n" + 30 * f" {LINE}" + 6 * f"-{LINE}" + 10 * f"+{LINE}"
TESTS = HEAD.format("tests/test_new.py") + "@@ -0,0 +1,40 @@\n" + 40 * f"+{LINE}"

ROWS = {
    "snapshot": ("", {"snapshot": "'s'", "instances": "{instances}"}),
    "task_instance": (
        "i",
        {
            "repo": "'django/django'",
            "problem_statement": f"repeat('{WORDS}', 12) || i",
            "patch": literal(FIX),
            "test_patch": literal(TESTS),
            "base_commit": "md5(i::VARCHAR)",
            "created_at": "TIMESTAMPTZ '2020-01-01' + INTERVAL (i * 5) DAY",
        },
    ),
    "changed_line": ("i x", {"path": "'src/module.py'", "side": "'after'", "line": "31 + x"}),
    "candidate": (
        "i m",
        {
            "method": "'method-' || m || '-with-a-name'",
            "patch": f"{literal(TESTS)} || '+# ' || i || ' ' || m",
            "provenance": "'self_reported'",
            "source": "'preds.jsonl:' || i",
            "model": "NULL",
        },
    ),
    "submission": (
        "i m",
        {
            "policy": "'tests-only'",
            "suite_id": "CASE WHEN (i + m) % 9 > 0 THEN 'suite-' || i || '-' || m END",
            "well_formed": "(i + m) % 9 > 0",
            "reason": "CASE WHEN (i + m) % 9 = 0 THEN 'does-not-apply' ELSE '' END",
        },
    ),
    "suite": (
        "i m",
        {
            "suite_id": "'suite-' || i || '-' || m",
            "kind": "'candidate'",
            "patch": f"{literal(TESTS)} || '+# ' || i || ' ' || m",
        },
    ),
    "run": (
        "i m state",
        {
            "run_key": "'run-' || i || '-' || m || '-' || state",
            "suite_id": "'suite-' || i || '-' || m",
            "suite_kind": "'candidate'",
            "code_state": "state",
            "status": "'completed'",
            "variant": "'plain'",
            "env_id": "'e'",
            "sandbox": "'process'",
            "cases": "3",
            "tracer": "'none'",
        },
    ),
    "case_outcome": (
        "i m state c",
        {
            "run_key": "'run-' || i || '-' || m || '-' || state",
            "case_id": "'tests/test_new.py::TestNew::test_case_' || c",
            "path": "'tests/test_new.py'",
            "phase": "'call'",
            "outcome": "CASE WHEN state = 'before' AND c = 0 THEN 'failed' "
            "WHEN state = 'after' AND hash(i, m) % 100 > m THEN 'failed' ELSE 'passed' END",
            "message": f"CASE WHEN state = 'before' AND c = 0 THEN repeat({literal(LINE)}, 15) ELSE '' END",
        },
    ),
}
"""Table → the names that it has a row for each of, and its columns that are not empty."""
SERIES = {
    "i": "range({instances}) AS _i (i)",
    "m": "range({methods}) AS _m (m)",
    "x": "range(10) AS _x (x)",
    "c": "range(3) AS _c (c)",
    "state": "(VALUES ('before'), ('after')) AS _s (state)",
}
COMMON = {
    "snapshot": "'s'",
    "instance_id": "'django__django-' || (10000 + i)",
    "instance_key": "'key-' || i",
    "candidate_id": "md5('candidate' || i || '-' || m)",
}


def generated(instances: int, methods: int) -> duckdb.DuckDBPyConnection:
    """The tables of the domain, filled."""
    connection = duckdb.connect()
    for row_type in TABLES:
        name, schema = table_name(row_type), arrow_schema(row_type)
        connection.register("empty", schema.empty_table())
        connection.execute(f"CREATE TABLE {name} AS FROM empty")
        connection.unregister("empty")
        if name in ROWS:
            over, given = ROWS[name]
            known = {**{key: value for key, value in COMMON.items() if _covers(over, value)}, **given}
            columns = ", ".join(known.get(field.name, _default(field)) for field in schema)
            sources = ", ".join(SERIES[one] for one in over.split()) or "(SELECT 1)"
            sql = f"INSERT INTO {name} SELECT {columns} FROM {sources}"
            connection.execute(sql.replace("{instances}", str(instances)).replace("{methods}", str(methods)))
    return connection


def _covers(over: str, value: str) -> bool:
    """Whether an expression uses no name but those."""
    needed = {name for name in ("i", "m") if f"|| {name}" in value or f"+ {name})" in value}
    return needed <= set(over.split())


def _default(field: object) -> str:
    kind, null = str(field.type), field.nullable  # type: ignore[attr-defined]
    if null:
        return "NULL"
    plain = {"string": "''", "int64": "0", "double": "0.0", "bool": "false"}
    return plain.get(kind, "[]" if kind.startswith("list") else "TIMESTAMPTZ '2026-11-01'")


def asked(connection: duckdb.DuckDBPyConnection) -> ReportRows:
    """The answers of a report, each view computed once."""
    statements = questions("s", with_golden=False)
    known = named_queries(SQL)
    wanted = needed_by(known, statements)
    for question in known:
        if question.name in wanted:
            define(connection, as_tables(question))
    return ReportRows(
        "s", {name: tuple(connection.sql(sql).to_arrow_table().to_pylist()) for name, sql in statements.items()}
    )


def build(label: str, rows: ReportRows, folder: Path) -> SiteMade:
    """Write the site and say what that took."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = write_site(rows, folder, golden=False, talk=lambda _: Talk(steps=(), total=0))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{label:32} {cpu:8.1f} CPU s {wall:8.1f} s {made.written:7} of {made.pages} pages written", flush=True)
    return made


def main() -> None:
    """Print a line for each build, and the sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--methods", type=int, default=60)
    parser.add_argument("--work", type=Path, required=True, help="an empty folder, for the site")
    given = parser.parse_args()
    connection = generated(given.instances, given.methods)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = asked(connection)
    print(f"{'asking':32} {time.process_time() - cpu:8.1f} CPU s {time.perf_counter() - wall:8.1f} s", flush=True)
    build("first build", rows, given.work)
    build("nothing changed", rows, given.work)
    build("one instance has another issue", _changed(rows), given.work)
    files = [path for path in given.work.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB")
    largest = sorted(files, key=lambda path: -path.stat().st_size)[:6]
    print(
        "largest: "
        + ", ".join(f"{path.relative_to(given.work)} {path.stat().st_size / 1e3:.0f} kB" for path in largest)
    )


def _changed(rows: ReportRows) -> ReportRows:
    first, *rest = rows["page_instance"]
    other = {**first, "problem_statement": "Something else is wrong."}
    return ReportRows(rows.snapshot, {**rows.answered, "page_instance": (other, *rest)})


if __name__ == "__main__":
    main()
