"""Evaluates files of `sql/` for a few instances at a time, to bound memory.

A view over all runs joins, groups and sorts all outcomes at once; ten million outcomes took 7 GB. Results about an
instance depend only on runs that it requested. The same definitions are therefore computed for one batch of instances
at a time, each view once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from tasks.adapters.store.files.disk import Disk
from tasks.adapters.store.files.layout import FACTS, PART, folder, may_hold
from tasks.adapters.store.files.schema import columns
from tasks.adapters.store.tables.latest import column_list, latest, quoted
from tasks.adapters.store.tables.reading import source_in, source_of
from tasks.adapters.store.views.sql_files import SqlFile, as_tables, define
from tasks.domain.candidate import Candidate
from tasks.domain.proposed_fix import FixRun
from tasks.domain.run import Run, RunRequest
from tasks.domain.table import table_name

KEY = "instance_key"
FULL = "full_"
"""Prefix of a table with the rows of all requested instances."""
RUNS_OF = f"{FULL}runs_of"
"""Table of the runs that each instance requested."""
ASKING = (RunRequest, FixRun)
"""Tables that, besides `run`, record which runs an instance requested (`sql/views/requested_run.sql`)."""
BATCH_CASES = 200_000
"""Approximate number of outcomes per batch: with all derived rows they take some 300 MB."""
BATCH_INSTANCES = 200


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance with the facts that decide its batch."""

    key: str
    repo: str
    cases: int
    """Number of outcomes of all its runs."""


def has_key(row_type: type[Any]) -> bool:
    """Whether the table has a column `instance_key`."""
    return any(column.name == KEY for column in columns(row_type))


def load(
    connection: duckdb.DuckDBPyConnection, disk: Disk, tables: Sequence[type[Any]], keys: Iterable[str] | None
) -> tuple[Instance, ...]:
    """Create tables `full_…` with the rows that count for the instances in `keys`, or for all. Returns the instances.

    Runs are those that the instances requested, whichever instance executed them. `enter` loads outcomes and lines per
    batch. Candidates are loaded by instance id: of two candidates for the same place, one may belong to another version
    of the instance.
    """
    if keys is not None:
        connection.register("asked_keys", pa.table({KEY: pa.array(list(keys), pa.string())}))
        connection.execute("CREATE OR REPLACE TABLE asked AS FROM asked_keys")
    first = (*ASKING, Run)
    for row_type in (*first, *(one for one in tables if one not in first and one not in FACTS)):
        source = source_of(connection, disk, row_type)
        if row_type is Run:
            connection.execute(f"CREATE OR REPLACE TABLE {RUNS_OF} AS {_runs_of(source, keys)}")
        if keys is not None and row_type is Candidate:
            ids = f"SELECT instance_id FROM {source} WHERE {KEY} IN (FROM asked)"
            source = f"(FROM {source} WHERE instance_id IN ({ids}))"
        elif keys is not None and row_type is Run:
            source = f"(FROM {source} WHERE run_key IN (SELECT run_key FROM {RUNS_OF}))"
        elif keys is not None and has_key(row_type):
            source = f"(FROM {source} WHERE {KEY} IN (FROM asked))"
        body = latest(row_type, lambda _, found=source: found, more=[PART])  # type: ignore[misc]
        connection.execute(f"CREATE OR REPLACE TABLE {FULL}{table_name(row_type)} AS {body}")
    return _instances(connection, tables, keys)


def _runs_of(source: str, keys: Iterable[str] | None) -> str:
    """Return a SELECT of instance and key of every requested run; `source` has all stored rows of `run`."""
    about = "" if keys is None else f" WHERE {KEY} IN (FROM asked)"
    asking = (source, *(f"{FULL}{table_name(row_type)}" for row_type in ASKING))
    return " UNION ".join(f"SELECT {KEY}, run_key FROM {one}{about}" for one in asking)


def _instances(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[type[Any]], keys: Iterable[str] | None
) -> tuple[Instance, ...]:
    """Return the instances ordered by repository, so that a batch reads the files of few repositories."""
    keyed = sorted(table_name(one) for one in tables if one is not Run and one not in FACTS and has_key(one))
    found = " UNION ".join(f"SELECT {KEY} FROM {name}" for name in (RUNS_OF, *(f"{FULL}{one}" for one in keyed)))
    wanted = "" if keys is None else f"WHERE k.{KEY} IN (FROM asked)"
    rows = connection.sql(
        f"SELECT k.{KEY}, coalesce(any_value(r.repo), ''), coalesce(sum(r.cases), 0)::BIGINT FROM ({found}) AS k "
        f"LEFT JOIN {RUNS_OF} AS a ON a.{KEY} = k.{KEY} LEFT JOIN {FULL}run AS r ON r.run_key = a.run_key "
        f"{wanted} GROUP BY 1 ORDER BY 2, 1"
    ).fetchall()
    return tuple(Instance(*row) for row in rows)


def batches(instances: Iterable[Instance]) -> Iterator[tuple[Instance, ...]]:
    """Yield batches of about `BATCH_CASES` outcomes each, in the given order."""
    held: list[Instance] = []
    for one in instances:
        if held and (len(held) == BATCH_INSTANCES or sum(h.cases for h in held) + one.cases > BATCH_CASES):
            yield tuple(held)
            held = []
        held.append(one)
    if held:
        yield tuple(held)


def enter(
    connection: duckdb.DuckDBPyConnection,
    disk: Disk,
    tables: Sequence[type[Any]],
    questions: Sequence[SqlFile],
    batch: Sequence[Instance],
) -> None:
    """Define all tables and files of `sql/` over the rows of this batch, replacing the previous
    batch. Requires `load`."""
    connection.register("batch_keys", pa.table({KEY: pa.array([one.key for one in batch], pa.string())}))
    connection.execute("CREATE OR REPLACE TABLE batch AS FROM batch_keys")
    for row_type in tables:
        if row_type in FACTS:
            _load_facts(connection, disk, row_type, batch)
        else:
            rows = f"SELECT {column_list(row_type)} FROM {FULL}{table_name(row_type)}{_about(row_type)}"
            connection.execute(f"CREATE OR REPLACE TABLE {table_name(row_type)} AS {rows}")
    for question in questions:
        define(connection, as_tables(question))


def _about(row_type: type[Any]) -> str:
    if row_type is Candidate:
        return f" WHERE instance_id IN (SELECT instance_id FROM {FULL}candidate WHERE {KEY} IN (FROM batch))"
    if row_type is Run:
        return f" WHERE run_key IN (SELECT run_key FROM {RUNS_OF} WHERE {KEY} IN (FROM batch))"
    return f" WHERE {KEY} IN (FROM batch)" if has_key(row_type) else ""


def _load_facts(
    connection: duckdb.DuckDBPyConnection, disk: Disk, row_type: type[Any], batch: Sequence[Instance]
) -> None:
    """Load the outcomes or lines of the runs of a batch."""
    name = table_name(row_type)
    wanted = f"SELECT run_key, {PART} FROM {FULL}run{_about(Run)}"
    keys = {row[0] for row in connection.sql(wanted).fetchall()}
    listed = (entry for repo in sorted({one.repo for one in batch}) for entry in disk.files(folder(row_type, repo)))
    files = [entry for entry in listed if entry.path.endswith(".parquet") and may_hold(row_type, entry.name, keys)]
    found = source_in(connection, disk, row_type, files)
    shown = ", ".join(f"fact.{quoted(column.name)}" for column in columns(row_type))
    connection.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT {shown} "
        f"FROM {found} AS fact SEMI JOIN ({wanted}) AS winner USING (run_key, {PART})"
    )
